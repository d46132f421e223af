"""The HTML pages: a router for each section."""

from fastapi import APIRouter

from queryveil.serve.pages import drafts, home, logs, other_releases, run_table, runs, search, try_methods

routers: list[APIRouter] = [
    home.router,
    logs.router,
    drafts.router,
    try_methods.router,
    run_table.router,
    runs.router,
    runs.releases,
    search.router,
    other_releases.router,
]
