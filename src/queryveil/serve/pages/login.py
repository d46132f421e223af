"""Logging in where the server asks for its token, and out again."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import HTMLResponse, Response

from queryveil.serve.guard import log_in, log_out
from queryveil.serve.pages.here import go
from queryveil.serve.rendering import page

router = APIRouter()
WRONG = "that is not this server's token; whoever started the server has it."


@router.get("/login")
def ask(request: Request) -> HTMLResponse:
    """Ask for the token."""
    return page(request, "login.html", wrong="")


@router.post("/login")
def let_in(request: Request, token: Annotated[str, Form()] = "") -> Response:
    """Let the browser in, or ask again."""
    answer = go("/")
    return answer if log_in(request, answer, token) else page(request, "login.html", status=403, wrong=WRONG)


@router.post("/logout")
def let_out(request: Request) -> Response:
    """Forget the browser."""
    answer = go("/login")
    log_out(answer)
    return answer
