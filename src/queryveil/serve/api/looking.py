"""Looking at a release by REST: verify, measure and attack it, each as a run."""

from fastapi import APIRouter, Request

from queryveil.serve.api.models import PROBLEMS, AttackIn, MeasureIn, OnRelease, RunOut, VerifyIn
from queryveil.serve.jobs import Jobs

router = APIRouter(tags=["releases"], responses=PROBLEMS)


@router.post("/verify", status_code=202)
def verify(request: Request, asked: VerifyIn) -> RunOut:
    """Check whether a release keeps what it claims."""
    return _start(request, "verify", asked)


@router.post("/measure", status_code=202)
def measure(request: Request, asked: MeasureIn) -> RunOut:
    """Measure what a release kept of its log, and what it gives away."""
    return _start(request, "measure", asked)


@router.post("/attack", status_code=202)
def attack(request: Request, asked: AttackIn) -> RunOut:
    """Attack a release with knowledge drawn from its log."""
    return _start(request, "attack", asked)


def _start(request: Request, kind: str, asked: OnRelease) -> RunOut:
    jobs: Jobs = request.app.state.jobs
    return RunOut.of(jobs.start(kind, asked.name, release=asked.release, spec=asked.spec()))
