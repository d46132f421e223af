"""What an owner wants to do with a log, and the runs of methods that serve it, as their declarations suggest."""

from pydantic import BaseModel

from queryveil.core.names import resolve
from queryveil.methods.base import GOALS, method_of
from queryveil.serve.fields import form_text, local_methods


class SuggestedRun(BaseModel):
    """A run that serves a goal."""

    method: str
    reason: str
    guarantee: str
    settings: dict[str, str]  # the method's name and its parameters, as the form takes them


class GoalOut(BaseModel):
    """A goal, and the runs that serve it, best first."""

    goal: str
    purpose: str
    suggestions: list[SuggestedRun]


def suggested_runs() -> list[GoalOut]:
    """Return all goals with the runs that the methods declare for them."""
    declared = [each for method in local_methods() for each in method.suggestions]
    return [
        GoalOut(
            goal=goal,
            purpose=purpose,
            suggestions=[_suggested(each.method, each.reason) for each in declared if each.goal == goal],
        )
        for goal, purpose in GOALS.items()
    ]


def _suggested(text: str, reason: str) -> SuggestedRun:
    resolved = resolve("method", text)
    claim = method_of(resolved).claim(resolved)
    settings = {name: form_text(value) for name, value in resolved.values.items() if value is not None}
    return SuggestedRun(
        method=text, reason=reason, guarantee=str(claim), settings={"method": resolved.declaration.name, **settings}
    )
