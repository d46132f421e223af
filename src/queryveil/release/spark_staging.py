"""Staging a release that a cluster writes: in a workspace on this machine, or in one of the cluster's storage."""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from queryveil.core.errors import OutputError
from queryveil.core.files import scratch
from queryveil.engines.spark.storage import Storage, local_path, uri_of
from queryveil.kinds.private_folder import RUN, PrivateFolder
from queryveil.release.manifest import NAME
from queryveil.release.writer import StagedRelease, Staging, staging

_SAME_STORAGE = "give both as folders of this machine, or both as addresses such as hdfs://…"


class ClusterStaging(StagedRelease, Protocol):
    """A release that a cluster writes."""

    @property
    def uri(self) -> str:
        """Where Spark finds the release as it is written."""

    @property
    def work(self) -> str:
        """Where Spark may write intermediate results."""


@contextmanager
def cluster_staging(storage: Storage, out: str, private: str | None, *, force: bool) -> Iterator[ClusterStaging]:
    """Make the folders for a release and its private folder; both are gone unless they are committed."""
    folder, secret = local_path(out), None if private is None else local_path(private)
    if private is not None and (folder is None) != (secret is None):
        raise OutputError(f"--out and --private are on different storages; {_SAME_STORAGE}.")
    if folder is not None:
        with staging(folder, secret, force=force) as staged:
            yield _LocalStaging(staged)
        return
    with ExitStack() as stack:
        here = stack.enter_context(scratch("private")) if private is not None else None
        yield stack.enter_context(_remote_staging(storage, out.rstrip("/"), private, here, force=force))


@dataclass(frozen=True)
class _LocalStaging:
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
        self.staged.write(name, data)

    def commit(self, content_sha256: str) -> None:
        self.staged.commit(content_sha256)


@dataclass(frozen=True)
class _RemoteStaging:
    """A workspace in the cluster's storage, which a later run to the same place removes if this one dies."""

    storage: Storage
    out: str
    private_uri: str | None
    private: Path | None
    workspace: str
    force: bool

    @property
    def uri(self) -> str:
        return f"{self.workspace}/new"

    @property
    def work(self) -> str:
        return f"{self.workspace}/work"

    def write(self, name: str, data: bytes) -> None:
        self.storage.write(f"{self.uri}/{name}", data)

    def commit(self, content_sha256: str) -> None:
        if self.private is not None and self.private_uri is not None:
            PrivateFolder(self.private).bind(content_sha256)
            for file in sorted(self.private.glob("*.*")):
                self.storage.upload(file, f"{self.workspace}/private/{file.name}")
            self._put(f"{self.workspace}/private", self.private_uri)
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
            self.storage.move(place, f"{made}-before")  # it is removed with the workspace once the new one stands
        self.storage.move(made, place)


@contextmanager
def _remote_staging(
    storage: Storage, out: str, private: str | None, here: Path | None, *, force: bool
) -> Iterator[_RemoteStaging]:
    for place, needed in ((out, NAME), (private, RUN)):
        if place is None or not storage.exists(place):
            continue
        if not force:
            raise OutputError(f"{place} exists already; choose another place, or replace it with --force.")
        if not storage.exists(f"{place}/{needed}"):
            raise OutputError(f"{place} was not made by queryveil, so --force does not replace it; choose another.")
    parent, _, name = out.rpartition("/")
    workspace = f"{parent}/.queryveil-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    storage.remove(workspace)
    storage.make_folder(f"{workspace}/new/data")
    try:
        yield _RemoteStaging(storage, out, private, here, workspace, force)
    finally:
        storage.remove(workspace)
