"""Generating a synthetic log to try things on."""

import numpy as np

from queryveil.core.progress import Progress, silent
from queryveil.logs.generate import GeneratedLog
from queryveil.logs.generate import generate as generate_log
from queryveil.workflows.requests import GenerateRequest


def generate(request: GenerateRequest, *, progress: Progress = silent) -> GeneratedLog:
    """Write a synthetic log and, if requested, a market table of its terms."""
    return generate_log(
        request.out,
        like=request.like,
        users=request.users,
        rng=np.random.default_rng(request.seed),
        market_out=request.market_out,
        overwrite=request.force,
        progress=progress,
    )
