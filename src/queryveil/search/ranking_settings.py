"""How documents are re-ranked: the weights of the engine's score, everybody's profile and the query's own terms.

The named settings are `blended`, chosen by evidence (docs/decisions/0053), and `paper`, the cosine of a profile alone
(Zhu and Xiong 2010, section 2). A weight that the user gives replaces that of the named settings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

from queryveil.core.errors import InputError
from queryveil.core.names import Real, Word
from queryveil.core.options import OptionGroup, option


@dataclass(frozen=True)
class RankingSettings:
    """The weights of a ranking, each from 0 to 1."""

    blend: float  # the engine's score against the similarity to profile and query
    shrink: float  # everybody's profile against the group's
    query_weight: float  # the query's own terms, added to a profile of unit length

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not Real(0, 1).accepts(value):
                raise InputError(f"{each.name} must be a number from 0 to 1, not {value}; change it.", field=each.name)


BLENDED, PAPER = "blended", "paper"
RANKINGS: Mapping[str, RankingSettings] = MappingProxyType(
    {
        BLENDED: RankingSettings(blend=0.1, shrink=0.4, query_weight=0.3),
        PAPER: RankingSettings(blend=0.0, shrink=0.0, query_weight=0.0),
    }
)
ENGINES = ("opensearch", "elasticsearch", "terms")  # for which `rescoring` writes requests
SPREAD = 5.0  # of the engine's scores, in that of similarities; docs/how-to/search-engines.md says how it was measured


def ranking_settings(
    name: str = BLENDED, *, blend: float | None = None, shrink: float | None = None, query_weight: float | None = None
) -> RankingSettings:
    """Return named settings with the weights that are given in place of theirs."""
    if name not in RANKINGS:
        raise InputError(f"ranking must be one of {', '.join(RANKINGS)}, not {name!r}; change it.", field="ranking")
    given = {"blend": blend, "shrink": shrink, "query_weight": query_weight}
    return replace(RANKINGS[name], **{key: value for key, value in given.items() if value is not None})


@dataclass(frozen=True, kw_only=True)
class RankingOptions(OptionGroup):
    """How the engine's documents are re-ranked by a profile."""

    ranking: str = option(
        BLENDED,
        Word(tuple(RANKINGS)),
        "blended: with the engine's score, everybody's profile and the query; paper: by the profile alone.",
    )
    blend: float | None = option(None, Real(0, 1), "the weight of the engine's own score against the profile")
    shrink: float | None = option(None, Real(0, 1), "the weight of everybody's profile against the group's")
    query_weight: float | None = option(None, Real(0, 1), "the weight of the query's own terms next to the profile")

    def settings(self) -> RankingSettings:
        """Return the weights: those given, else those of the named ranking."""
        return ranking_settings(self.ranking, blend=self.blend, shrink=self.shrink, query_weight=self.query_weight)
