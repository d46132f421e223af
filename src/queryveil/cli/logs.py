"""`queryveil profiles`: everybody's terms with weights, in a file."""

from dataclasses import asdict

import typer

from queryveil.cli.command import command
from queryveil.cli.output import print_json, progress_bar
from queryveil.workflows.requests import ProfilesRequest


@command(ProfilesRequest, json="Print the result as JSON.")
def profiles(request: ProfilesRequest, as_json: bool) -> int:
    """Write the profiles of a log (user, term, weight); keep the file secret, it names people."""
    from queryveil.workflows.profiling import write_profiles

    with progress_bar() as progress:
        done = write_profiles(request, progress=progress)
    if as_json:
        print_json({**asdict(done), "path": str(done.path)})
    else:
        typer.echo(f"{done.path}: {done.people:,} people, {done.terms:,} terms, {done.rows:,} rows (keep it secret)")
    return 0
