"""What every page needs of the application, with its type."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse

from queryveil.serve.jobs import Jobs
from queryveil.serve.logs import Logs
from queryveil.serve.settings import Settings
from queryveil.serve.store import Store


@dataclass(frozen=True)
class State:
    """The state of the server."""

    settings: Settings
    store: Store
    jobs: Jobs
    logs: Logs


def _state(request: Request) -> State:
    state = request.app.state
    return State(state.settings, state.store, state.jobs, state.logs)


async def _fields(request: Request) -> dict[str, str]:
    """Return the texts of a form; of several under one name the last."""
    form: FormData = await request.form()
    return {name: value for name, value in form.items() if isinstance(value, str)}


Here = Annotated[State, Depends(_state)]
Fields = Annotated[dict[str, str], Depends(_fields)]


def go(address: str) -> RedirectResponse:
    """Send the browser on after a form, so that a reload does not send it twice."""
    return RedirectResponse(address, 303)


def free_name(wanted: str, taken: set[str]) -> str:
    """Return a name, with a number behind it where it is taken."""
    names = (wanted if number == 1 else f"{wanted} {number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)
