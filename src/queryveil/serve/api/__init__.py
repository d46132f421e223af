"""The REST service: a router for each resource, all under one prefix."""

from fastapi import APIRouter

from queryveil.serve.api import resources
from queryveil.serve.api.models import PROBLEMS
from queryveil.serve.fields import DeclarationsOut, all_declarations

PREFIX = "/api/v1"

_declarations = APIRouter(tags=["declarations"], responses=PROBLEMS)
routers = [resources.logs, resources.runs, resources.releases, resources.searches, _declarations]


@_declarations.get("/declarations")
def list_declarations() -> DeclarationsOut:
    """List methods, guarantees, targets, measures, attacks, formats, corpora and options, with their parameters."""
    return all_declarations()
