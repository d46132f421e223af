"""What page, REST and lean service share of searching: what may be asked for, and the answer as a record."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from queryveil.core.errors import InputError
from queryveil.serve.store import UnknownIdError

if TYPE_CHECKING:
    from queryveil.search.answers import Answer
    from queryveil.workflows.search import Searcher

LONGEST_QUERY, MOST_HITS, DEEPEST = 1_000, 100, 1_000  # characters, documents, documents
LARGEST_GROUP = 2**31 - 1
_QUICK_QUERY, _QUICK_DEPTH = 200, 200  # what takes a millisecond or so
_LONGEST_NAME = 40  # of a field that is repeated in a sentence
RULES: Mapping[str, str] = {
    "query": f"a text of at most {LONGEST_QUERY:,} characters",
    "group": "the number of a group of the release, or left out to search as nobody",
    "n": f"a whole number from 1 to {MOST_HITS}",
    "depth": f"a whole number from 1 to {DEEPEST:,}",
    "blend": "a number from 0 to 1",
    "explain": "true or false",
}


class SearchRequest(BaseModel):
    """A query, and the group for which it is answered; never a person."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: str = Field(max_length=LONGEST_QUERY, description="What to search for.")
    group: int | None = Field(
        None, ge=0, le=LARGEST_GROUP, description="A group of the release; without one, the engine's own order."
    )
    n: int = Field(10, ge=1, le=MOST_HITS, description="How many documents to return.")
    depth: int = Field(100, ge=1, le=DEEPEST, description="How many of the engine's documents are re-ranked.")
    blend: float = Field(0.0, ge=0, le=1, description="How much the engine's own score counts against the profile.")
    explain: bool = Field(False, description="Say which terms moved a document.")

    @property
    def is_quick(self) -> bool:
        """Say whether to answer at once costs less than to hand it to a thread."""
        return len(self.query) <= _QUICK_QUERY and self.depth <= _QUICK_DEPTH


def find(searcher: "Searcher", request: SearchRequest) -> dict[str, Any]:
    """Answer a request as `queryveil search --json` does."""
    if request.group is not None:
        check_group(searcher, request.group)
    return record(
        searcher.search(
            request.query,
            request.group,
            n=request.n,
            depth=request.depth,
            blend=request.blend,
            explain=request.explain,
        )
    )


def check_group(searcher: "Searcher", group: int) -> None:
    """Refuse a group that the release does not have, without saying where the server keeps the release."""
    if not searcher.groups:
        raise InputError("no release of groups is served here; leave the group out.", field="group")
    if not searcher.has_group(group):
        from queryveil.workflows.search import nearest_numbers

        near = nearest_numbers(group, searcher.groups)
        raise UnknownIdError(f"the release has no group {group}; {near}", field="group")


def record(answer: "Answer") -> dict[str, Any]:
    """Return an answer as plain values, quicker than `asdict` does."""
    return {"query": answer.query, "hits": [vars(hit) for hit in answer.hits], "note": answer.note}


def refusal(place: Sequence[str | int], rules: Mapping[str, str] = RULES) -> InputError:
    """Say in a sentence what is wrong at a place of a request; nothing of what was sent is repeated."""
    field = str(place[0]) if place else ""
    if field in rules:
        return InputError(f"{field} must be {rules[field]}; change it.", field=field)
    if field:
        sentence = f"a search takes {', '.join(rules)}, and never who searches; leave {_named(field)} out."
        return InputError(sentence, field=field if _can_be_named(field) else "")
    return InputError('a search is a JSON object such as {"query": "java", "group": 1}; send one.')


def _named(field: str) -> str:
    return field if _can_be_named(field) else "every other field"


def _can_be_named(field: str) -> bool:
    return field.isidentifier() and field.isascii() and len(field) <= _LONGEST_NAME
