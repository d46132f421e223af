"""Runs that describe a release for those who receive it, with what its owner states and the results of attacks."""

import json
from typing import Annotated, Any

from pydantic import Field, field_validator

from queryveil.core.errors import InputError
from queryveil.core.progress import Progress
from queryveil.report.datasheet import OWNER_FIELDS
from queryveil.serve.fields import with_options
from queryveil.serve.run_specs import RunInputs, RunSpec, register_spec
from queryveil.serve.stored_files import DATASHEET, RESULT, TEMPORARY
from queryveil.workflows.requests import DatasheetRequest

NO_ATTACKS = "there are no results of that run of attacks; choose another, or leave it out."
LONGEST_FIELD = 4_000  # characters


@register_spec
@with_options(DatasheetRequest, "places")
class DatasheetSpec(RunSpec):
    """A datasheet of a release: what it holds and promises, and what its owner states."""

    run_kind = "datasheet"
    needs_log = False
    needs_release = True
    owner: Annotated[
        dict[str, Annotated[str, Field(max_length=LONGEST_FIELD)]],
        Field(description=f"what only the owner knows, by field: {', '.join(OWNER_FIELDS)}"),
    ] = {}  # noqa: RUF012  (pydantic copies it)
    attacks: Annotated[
        str, Field(pattern="^([0-9a-f]{12})?$", description="the id of a run of attacks whose results are shown")
    ] = ""

    @field_validator("owner")
    @classmethod
    def _check_owner(cls, owner: dict[str, str]) -> dict[str, str]:
        """Refuse fields that a datasheet does not have; those that are empty are not given."""
        if not set(owner) <= set(OWNER_FIELDS):
            raise ValueError(f"the fields are {', '.join(OWNER_FIELDS)}")
        return {name: text for name, text in owner.items() if text.strip()}

    def check(self, inputs: RunInputs) -> None:
        """Raise if there are no such results of attacks."""
        super().check(inputs)
        if self.attacks and not (inputs.folder.parent / self.attacks / RESULT).is_file():
            raise InputError(NO_ATTACKS, field="attacks")

    def perform(self, inputs: RunInputs, progress: Progress) -> dict[str, Any]:
        """Write the datasheet into the run's folder."""
        from queryveil.workflows.datasheet import datasheet

        folder = inputs.folder / TEMPORARY
        given = {"owner": folder / "owner.toml", "out": inputs.folder / DATASHEET}
        stated = (f"{name} = {json.dumps(text, ensure_ascii=False)}" for name, text in self.owner.items())
        given["owner"].write_text("\n".join(stated).replace("\x7f", ""))  # the one character that TOML does not take
        if self.attacks:
            found = json.loads((inputs.folder.parent / self.attacks / RESULT).read_text())
            given["attacks"] = folder / "attacks.json"
            given["attacks"].write_text(json.dumps({name: found[name] for name in found if name != "table"}))
        done = datasheet(self.request(DatasheetRequest, inputs, **inputs.release_options, **given), progress)
        return {"missing": list(done.missing)}
