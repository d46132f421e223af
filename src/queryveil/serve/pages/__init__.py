"""The HTML pages: a router for each section."""

from fastapi import APIRouter

from queryveil.serve.pages import audit, drafts, guide, home, logs, other_releases, run_table, runs, search, try_methods

routers: list[APIRouter] = [
    home.router,
    logs.router,
    drafts.router,
    guide.router,
    try_methods.router,
    run_table.router,
    runs.router,
    runs.releases,
    search.router,
    other_releases.router,
    audit.router,
]
