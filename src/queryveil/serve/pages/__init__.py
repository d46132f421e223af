"""The HTML pages: a router for each section."""

from fastapi import APIRouter

from queryveil.serve.pages import home, logs, runs, search, try_methods

routers: list[APIRouter] = [home.router, logs.router, try_methods.router, runs.router, runs.releases, search.router]
