"""Files that Spark can reach (a local folder, HDFS, an object store), through Hadoop's file systems."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queryveil.core.errors import LogError, OutputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_HIDDEN = ("_", ".")  # first characters of names that Spark does not read


def local_path(uri: str) -> Path | None:
    """Return the path of a file on this machine; None for other file systems such as hdfs://… ."""
    if uri.startswith("file:/"):
        return Path("/" + uri.removeprefix("file:").lstrip("/"))
    return None if _SCHEME.match(uri) else Path(uri)


def uri_of(path: Path) -> str:
    """Return the URI of a path on this machine, which does not depend on Hadoop's default file system."""
    return f"file://{path.resolve()}"


@dataclass(frozen=True)
class Storage:
    """The file systems that a Spark session can reach."""

    spark: "SparkSession"

    def exists(self, uri: str) -> bool:
        """Return whether a file or folder exists."""
        system, path = self._resolve(uri)
        return bool(system.exists(path))

    def is_folder(self, uri: str) -> bool:
        """Return whether a path is a folder."""
        system, path = self._resolve(uri)
        return bool(system.getFileStatus(path).isDirectory())

    def files(self, uri: str) -> Iterator[str]:
        """Yield the files of a path, pattern or folder, sorted by name, without hidden ones."""
        system, path = self._resolve(uri)
        matches = system.globStatus(path)
        if not matches:
            raise LogError(f"there is no file {uri}; check the path.")
        for status in sorted(matches, key=lambda status: str(status.getPath())):
            yield from self._files_below(system, status)

    def head(self, uri: str, n_bytes: int) -> bytes:
        """Return the first bytes of a file."""
        system, path = self._resolve(uri)
        stream = system.open(path)
        try:
            return bytes(stream.readNBytes(n_bytes))
        finally:
            stream.close()

    def read(self, uri: str) -> bytes:
        """Return the content of a small file."""
        return self.head(uri, 1 << 28)

    def absolute(self, uri: str) -> str:
        """Return the full URI of a path."""
        system, path = self._resolve(uri)
        return str(system.getFileStatus(path).getPath())

    def sizes(self, uri: str) -> Iterator[tuple[str, int]]:
        """Yield the files of a path with their sizes in bytes."""
        for file in self.files(uri):
            system, path = self._resolve(file)
            yield file, int(system.getFileStatus(path).getLen())

    def upload(self, local: Path, uri: str) -> None:
        """Copy a file from this machine."""
        system, path = self._resolve(uri)
        system.copyFromLocalFile(False, True, self._resolve(uri_of(local))[1], path)

    def write(self, uri: str, data: bytes) -> None:
        """Write a file atomically: to a temporary name, then rename it."""
        system, path = self._resolve(uri)
        _, temporary = self._resolve(f"{uri}.part")
        stream = system.create(temporary, True)
        try:
            stream.write(bytearray(data))
            stream.hsync() if system.getScheme() == "file" else stream.hflush()
        finally:
            stream.close()
        self._check_written(system.rename(temporary, path), uri)

    def move(self, uri: str, to: str) -> None:
        """Rename a file or folder."""
        system, path = self._resolve(uri)
        self._check_written(system.rename(path, self._resolve(to)[1]), to)

    def make_folder(self, uri: str) -> None:
        """Create a folder and its parents."""
        system, path = self._resolve(uri)
        self._check_written(system.mkdirs(path), uri)

    def remove(self, uri: str) -> None:
        """Delete a file, or a folder with its content."""
        system, path = self._resolve(uri)
        system.delete(path, True)

    def _files_below(self, system: Any, status: Any) -> Iterator[str]:
        path = status.getPath()
        if not status.isDirectory():
            yield str(path)
            return
        for child in sorted(system.listStatus(path), key=lambda child: str(child.getPath())):
            if not child.getPath().getName().startswith(_HIDDEN):
                yield from self._files_below(system, child)

    def _resolve(self, uri: str) -> tuple[Any, Any]:
        """Return the Hadoop file system and path objects of a URI."""
        java: Any = self.spark._jvm
        path = java.org.apache.hadoop.fs.Path(uri)
        return path.getFileSystem(self.spark._jsc.hadoopConfiguration()), path

    @staticmethod
    def _check_written(is_done: bool, uri: str) -> None:
        if not is_done:
            raise OutputError(f"{uri} could not be written; check the rights and the space there.")
