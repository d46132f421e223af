"""Files where Spark can read and write them (a local folder, HDFS, an object store), by Hadoop's own file systems."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queryveil.core.errors import LogError, OutputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_HIDDEN = ("_", ".")  # what Spark itself does not read


def local_path(place: str) -> Path | None:
    """Return a place on this machine as a path; None where it is somewhere else, such as hdfs://… ."""
    if place.startswith("file:/"):
        return Path("/" + place.removeprefix("file:").lstrip("/"))
    return None if _SCHEME.match(place) else Path(place)


def uri_of(path: Path) -> str:
    """Return a path of this machine as Hadoop takes it, whatever its usual file system is."""
    return f"file://{path.resolve()}"


@dataclass(frozen=True)
class Storage:
    """The file systems that a session can reach."""

    spark: "SparkSession"

    def exists(self, uri: str) -> bool:
        """Say whether there is a file or a folder."""
        system, path = self._at(uri)
        return bool(system.exists(path))

    def is_folder(self, uri: str) -> bool:
        """Say whether what is there is a folder."""
        system, path = self._at(uri)
        return bool(system.getFileStatus(path).isDirectory())

    def files(self, uri: str) -> Iterator[str]:
        """Yield the files of a path, a pattern or a folder, in the order of their names, hidden ones left out."""
        system, path = self._at(uri)
        matches = system.globStatus(path)
        if not matches:
            raise LogError(f"there is no file {uri}; check the path.")
        for status in sorted(matches, key=lambda status: str(status.getPath())):
            yield from self._below(system, status)

    def head(self, uri: str, n_bytes: int) -> bytes:
        """Return the first bytes of a file."""
        system, path = self._at(uri)
        stream = system.open(path)
        try:
            return bytes(stream.readNBytes(n_bytes))
        finally:
            stream.close()

    def read(self, uri: str) -> bytes:
        """Return a small file whole."""
        return self.head(uri, 1 << 28)

    def absolute(self, uri: str) -> str:
        """Return a path as the file system itself names it."""
        system, path = self._at(uri)
        return str(system.getFileStatus(path).getPath())

    def sizes(self, uri: str) -> Iterator[tuple[str, int]]:
        """Yield the files of a path with their sizes in bytes."""
        for file in self.files(uri):
            system, path = self._at(file)
            yield file, int(system.getFileStatus(path).getLen())

    def upload(self, local: Path, uri: str) -> None:
        """Copy a file of this machine."""
        system, path = self._at(uri)
        system.copyFromLocalFile(False, True, self._at(uri_of(local))[1], path)

    def write(self, uri: str, data: bytes) -> None:
        """Write a file whole, or not at all."""
        system, path = self._at(uri)
        _, temporary = self._at(f"{uri}.part")
        stream = system.create(temporary, True)
        try:
            stream.write(bytearray(data))
            stream.hsync() if self._is_local(system) else stream.hflush()
        finally:
            stream.close()
        self._must(system.rename(temporary, path), uri)

    def move(self, uri: str, to: str) -> None:
        """Give a file or folder another name."""
        system, path = self._at(uri)
        self._must(system.rename(path, self._at(to)[1]), to)

    def make_folder(self, uri: str) -> None:
        """Make a folder and those around it."""
        system, path = self._at(uri)
        self._must(system.mkdirs(path), uri)

    def remove(self, uri: str) -> None:
        """Remove a file or a folder with all that is in it."""
        system, path = self._at(uri)
        system.delete(path, True)

    def _below(self, system: Any, status: Any) -> Iterator[str]:
        path = status.getPath()
        if not status.isDirectory():
            yield str(path)
            return
        for child in sorted(system.listStatus(path), key=lambda child: str(child.getPath())):
            if not child.getPath().getName().startswith(_HIDDEN):
                yield from self._below(system, child)

    def _at(self, uri: str) -> tuple[Any, Any]:
        """Return the file system of a path and the path as Hadoop knows it."""
        java: Any = self.spark._jvm
        path = java.org.apache.hadoop.fs.Path(uri)
        return path.getFileSystem(self.spark._jsc.hadoopConfiguration()), path

    @staticmethod
    def _is_local(system: Any) -> bool:
        return str(system.getScheme()) == "file"

    @staticmethod
    def _must(is_done: bool, uri: str) -> None:
        if not is_done:
            raise OutputError(f"{uri} could not be written; check the rights and the space there.")
