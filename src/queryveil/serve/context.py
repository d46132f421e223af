"""The state of the web server, and the dependencies by which routes get at it."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from queryveil.serve.access import Access, load_secret
from queryveil.serve.audit import AuditTrail
from queryveil.serve.drafts import Drafts
from queryveil.serve.jobs import RunManager
from queryveil.serve.logs import Logs
from queryveil.serve.search import SearcherCache
from queryveil.serve.settings import Settings
from queryveil.serve.store import Store


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

    def close(self) -> None:
        """Stop all runs and close the store; a second call does nothing."""
        self.jobs.close()
        self.store.close()


def context_of(request: Request) -> ServerContext:
    """Return the state of the server that a request came to."""
    context: ServerContext = request.app.state.context
    return context


async def _form_texts(request: Request) -> dict[str, str]:
    """Return the text fields of a form; of several with one name, the last."""
    form = await request.form()
    return {name: value for name, value in form.items() if isinstance(value, str)}


ContextDep = Annotated[ServerContext, Depends(context_of)]
FormDep = Annotated[dict[str, str], Depends(_form_texts)]
