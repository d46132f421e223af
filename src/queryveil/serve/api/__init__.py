"""The REST service: one router for each kind of thing, all under one prefix."""

from fastapi import APIRouter

from queryveil.serve.api import about, logs, looking, releases, runs, search

PREFIX = "/api/v1"

routes: list[APIRouter] = [logs.router, runs.router, releases.router, looking.router, search.router, about.router]
