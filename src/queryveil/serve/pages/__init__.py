"""The pages: one router each."""

from fastapi import APIRouter

routes: list[APIRouter] = []
