"""The pages: one router each."""

from fastapi import APIRouter

from queryveil.serve.pages import history, login, logs, releases, runs, search, start, trying

routes: list[APIRouter] = [
    start.router,
    logs.router,
    trying.router,
    runs.router,
    history.router,
    releases.router,
    search.router,
    login.router,
]
