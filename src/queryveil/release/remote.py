"""Where a release of a cluster is made: beside its place on this machine, or beside it in the cluster's storage."""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from queryveil.core.errors import OutputError
from queryveil.core.files import scratch, write_file
from queryveil.engines.spark.storage import Storage, local_path, uri_of
from queryveil.release.private import RUN, bind
from queryveil.release.writer import Staging, staging

_MIXED = "give both as folders of this machine, or both as addresses such as hdfs://…"


class Making(Protocol):
    """A release in the making."""

    @property
    def uri(self) -> str:
        """Where Spark finds the release as it is made."""

    @property
    def work(self) -> str:
        """Where Spark may write what is computed on the way."""

    @property
    def private(self) -> Path | None:
        """The folder of this machine for who is behind it."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file of the release whole."""

    def commit(self, content_sha256: str) -> None:
        """Put the release in its place, and the private folder before it."""


@contextmanager
def making(storage: Storage, out: str, private: str | None, *, force: bool) -> Iterator[Making]:
    """Make the folders for a release and its private folder; both are gone unless they are committed."""
    folder, secret = local_path(out), None if private is None else local_path(private)
    if private is not None and (folder is None) != (secret is None):
        raise OutputError(f"--out and --private are on different storages; {_MIXED}.")
    if folder is not None:
        with staging(folder, secret, force=force) as staged:
            yield _Here(staged)
        return
    with ExitStack() as stack:
        here = stack.enter_context(scratch("private")) if private is not None else None
        yield stack.enter_context(_elsewhere(storage, out.rstrip("/"), private, here, force=force))


@dataclass(frozen=True)
class _Here:
    staged: Staging

    @property
    def uri(self) -> str:
        return uri_of(self.staged.release)

    @property
    def work(self) -> str:
        return uri_of(self.staged.work)

    @property
    def private(self) -> Path | None:
        return self.staged.private

    def write(self, name: str, data: bytes) -> None:
        write_file(self.staged.release / name, data)

    def commit(self, content_sha256: str) -> None:
        self.staged.commit(content_sha256)


@dataclass(frozen=True)
class _Elsewhere:
    """A folder beside the place, which a later run to the same place removes if this one dies."""

    storage: Storage
    out: str
    private_uri: str | None
    private: Path | None
    beside: str
    force: bool

    @property
    def uri(self) -> str:
        return f"{self.beside}/new"

    @property
    def work(self) -> str:
        return f"{self.beside}/work"

    def write(self, name: str, data: bytes) -> None:
        self.storage.write(f"{self.uri}/{name}", data)

    def commit(self, content_sha256: str) -> None:
        if self.private is not None and self.private_uri is not None:
            bind(self.private, content_sha256)
            for file in sorted(self.private.glob("*.*")):
                self.storage.upload(file, f"{self.beside}/private/{file.name}")
            self._put(f"{self.beside}/private", self.private_uri)
        try:
            self._put(self.uri, self.out)
        except BaseException:
            if self.private_uri is not None:
                self.storage.remove(self.private_uri)
            raise

    def _put(self, made: str, place: str) -> None:
        if self.storage.exists(place):
            if not self.force:
                raise OutputError(f"{place} exists already; choose another place, or replace it with --force.")
            self.storage.move(place, f"{made}-before")  # it goes with the folder beside once the new one stands
        self.storage.move(made, place)


@contextmanager
def _elsewhere(
    storage: Storage, out: str, private: str | None, here: Path | None, *, force: bool
) -> Iterator[_Elsewhere]:
    for place, needed in ((out, "manifest.json"), (private, RUN)):
        if place is None or not storage.exists(place):
            continue
        if not force:
            raise OutputError(f"{place} exists already; choose another place, or replace it with --force.")
        if not storage.exists(f"{place}/{needed}"):
            raise OutputError(f"{place} was not made by queryveil, so --force does not replace it; choose another.")
    parent, _, name = out.rpartition("/")
    beside = f"{parent}/.queryveil-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    storage.remove(beside)
    storage.make_folder(f"{beside}/new/data")
    try:
        yield _Elsewhere(storage, out, private, here, beside, force)
    finally:
        storage.remove(beside)
