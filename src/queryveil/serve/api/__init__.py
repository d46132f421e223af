"""The REST service: a router for each resource, all under one prefix."""

from fastapi import APIRouter

from queryveil.serve.api import audit, drafts, handover, other_releases, resources, run_table
from queryveil.serve.api.models import PROBLEMS
from queryveil.serve.fields import DeclarationsOut, GoalOut, all_declarations, suggested_runs

PREFIX = "/api/v1"

_declarations = APIRouter(tags=["declarations"], responses=PROBLEMS)
routers = [
    resources.logs,
    drafts.router,
    run_table.router,
    resources.runs,
    handover.router,
    resources.releases,
    resources.searches,
    resources.rescores,
    other_releases.router,
    audit.router,
    _declarations,
]


@_declarations.get("/declarations")
def list_declarations() -> DeclarationsOut:
    """List methods, guarantees, targets, measures, attacks, formats, corpora and options, with their parameters."""
    return all_declarations()


@_declarations.get("/goals")
def list_goals() -> list[GoalOut]:
    """List what a log may be for, with the runs of methods that serve it and the reasons."""
    return suggested_runs()
