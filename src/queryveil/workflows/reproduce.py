"""Making a paper's evaluation again: on a log at hand, or on a generated one."""

import json
import time
from dataclasses import replace

import numpy as np

from queryveil._version import __version__
from queryveil.core.errors import InputError, UnknownNameError
from queryveil.core.names import nearest
from queryveil.core.progress import Progress, silent
from queryveil.release.folder import write_folder
from queryveil.release.writer import check_place
from queryveil.report.reproduction import Reproduction, render_reproduction
from queryveil.workflows.papers import FOR_THE_OWNER, PAPERS, is_given
from queryveil.workflows.requests import ReproduceRequest

PAGE, NUMBERS = "page.html", "numbers.json"


def reproduce(options: ReproduceRequest, *, progress: Progress = silent) -> Reproduction:
    """Make the tables and figures of a paper; every run is verified before it is reported.

    A request without a log stands for a generated one, which is read and cleaned as the request says.
    """
    started = time.monotonic()
    paper, source = options.paper, options.source
    if paper not in PAPERS:
        raise UnknownNameError(f"there is no reproduction of {paper!r}; {nearest(paper, list(PAPERS))}")
    chosen = PAPERS[paper]
    if options.out is not None:
        check_place(options.out, NUMBERS, force=options.force)
    if source.cleaning.partition_by:
        raise InputError("--partition-by: the paper anonymises a log as a whole; leave it out.")
    chosen.check(source, options)
    done = chosen.run(source, options, np.random.default_rng(options.seed), progress)
    seconds = time.monotonic() - started
    numbers = {**done.numbers, "queryveil": __version__, "seconds": round(seconds, 2)}
    warning = FOR_THE_OWNER if chosen.shows_terms and is_given(source) else ""
    done = replace(done, numbers=numbers, seconds=seconds, warning=warning)
    if options.out is not None:
        progress("writing", 0, 1)
        contents = {
            NUMBERS: (json.dumps(numbers, indent=2, ensure_ascii=False) + "\n").encode(),
            PAGE: render_reproduction(done).encode(),
        }
        write_folder(options.out, contents, force=options.force, secret=is_given(source))
    return done
