"""The state of the web server, and the dependencies by which routes get at it."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.datastructures import FormData

from queryveil.serve.access import Access, is_by_owner, load_secret, require_owner
from queryveil.serve.audit import AuditTrail
from queryveil.serve.drafts import Drafts
from queryveil.serve.jobs import RunManager
from queryveil.serve.logs import Logs
from queryveil.serve.run_specs import RunSpec, parse_spec
from queryveil.serve.search import SearcherCache
from queryveil.serve.settings import Settings
from queryveil.serve.store import RunRow, Store


@dataclass(frozen=True)
class ServerContext:
    """Everything that pages and REST routes work with."""

    settings: Settings
    store: Store
    jobs: RunManager
    logs: Logs
    drafts: Drafts
    searchers: SearcherCache
    access: Access
    audit: AuditTrail
    secret: bytes  # signs form tokens

    @classmethod
    def open(cls, settings: Settings) -> "ServerContext":
        """Open the state in the home folder and start the thread that manages runs."""
        settings.check()
        store = Store(settings.state_folder)
        secret = load_secret(settings.state_folder)
        jobs = RunManager(settings, store)
        logs, searchers = Logs(settings, store, jobs), SearcherCache(settings, store, jobs)
        drafts = Drafts(settings, store, jobs, logs)
        access, audit = Access(settings, store, secret), AuditTrail(store)
        return cls(settings, store, jobs, logs, drafts, searchers, access, audit, secret)

    def result_for(self, request: Request, row: RunRow) -> dict[str, Any] | None:
        """Return what a run found, unless that is for the owner alone and somebody else asks."""
        is_hidden = parse_spec(row.kind, row.spec).is_about_folder and not is_by_owner(request)
        return None if is_hidden else self.jobs.result(row.id)

    def close(self) -> None:
        """Stop all runs and close the store; a second call does nothing."""
        self.jobs.close()
        self.store.close()


def context_of(request: Request) -> ServerContext:
    """Return the state of the server that a request came to."""
    context: ServerContext = request.app.state.context
    return context


def check_files(request: Request, *specs: RunSpec) -> None:
    """Refuse specs that name files of the server's folder, unless they are the owner's.

    Raw logs may lie there, and an error, a counterexample or a document that is found may quote one.
    """
    if any(spec.named_files() for spec in specs):
        require_owner(request)


async def _form_texts(request: Request) -> dict[str, str]:
    """Return the text fields of a form; of several with one name, the last."""
    form = await request.form()
    return {name: value for name, value in form.items() if isinstance(value, str)}


async def _form_data(request: Request) -> FormData:
    """Return all fields of a form, also several with one name."""
    return await request.form()


ContextDep = Annotated[ServerContext, Depends(context_of)]
FormDep = Annotated[dict[str, str], Depends(_form_texts)]
FormDataDep = Annotated[FormData, Depends(_form_data)]
