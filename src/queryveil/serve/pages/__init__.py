"""The pages: one router each."""

from fastapi import APIRouter

from queryveil.serve.pages import login, logs, search, start

routes: list[APIRouter] = [start.router, login.router, logs.router, search.router]
