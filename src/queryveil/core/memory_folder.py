"""Folders that exist only in memory: releases that are made, verified and measured without writing anything."""

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any


@dataclass(frozen=True, repr=False)
class MemoryPath:
    """A folder in memory, or a file in one; it has the methods of `Path` that read a release and its private folder."""

    label: str  # of the folder, for messages
    name: str = ""  # of the file
    files: dict[str, bytes] = field(default_factory=dict, compare=False)

    def __truediv__(self, name: str) -> "MemoryPath":
        return MemoryPath(self.label, name, self.files)

    def __str__(self) -> str:
        return f"{self.label}/{self.name}" if self.name else self.label

    def __repr__(self) -> str:
        return f"<{self}>"

    def is_dir(self) -> bool:
        """Return whether this is the folder."""
        return not self.name

    def is_file(self) -> bool:
        """Return whether this is a file that was written."""
        return self.name in self.files

    def exists(self) -> bool:
        """Return whether this is the folder or a file that was written."""
        return self.is_dir() or self.is_file()

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        if not self.is_file():
            raise FileNotFoundError(2, "No such file", str(self))
        return self.files[self.name]

    def read_text(self) -> str:
        """Return the content of the file as text."""
        return self.read_bytes().decode()

    def write_bytes(self, data: bytes) -> None:
        """Replace the content of the file."""
        self.files[self.name] = data

    def open(self, **options: Any) -> IO[str]:
        """Open the file as text; the options are those of `io.TextIOWrapper`."""
        return io.TextIOWrapper(io.BytesIO(self.read_bytes()), **options)


Folder = Path | MemoryPath  # where a release or its private folder is


def folder_of(location: Any) -> Any:
    """Return a text as a path, and anything else, such as a folder in memory, as it is."""
    return Path(location) if isinstance(location, str) else location
