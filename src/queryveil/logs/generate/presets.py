"""The shapes of log that can be generated: `demo`, `altavista` and `aol`, declared in presets.toml."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from queryveil.logs.generate.shape import Activity, LexiconSizes, LogShape, PatternTable, QueryMix, Slot, Zipf

_DECLARED = tomllib.loads(Path(__file__).with_name("presets.toml").read_text("utf-8"))
_WEB = _DECLARED["web"]
_WEB_PATTERNS = {pattern: weight for patterns in _WEB["patterns"].values() for pattern, weight in patterns.items()}


def _shape(name: str, laws: Mapping[str, tuple[float, float]], patterns: PatternTable) -> LogShape:
    """Return the shape that presets.toml declares under a name, with its laws of popularity and its patterns."""
    declared = _DECLARED[name]
    return LogShape(
        name=name,
        sizes=LexiconSizes(**declared["sizes"]),
        laws={Slot[slot.upper()]: Zipf(*law) for slot, law in laws.items()},
        activity=Activity(**declared["activity"]),
        patterns=patterns,
        queries=QueryMix(**declared["queries"]),
        **declared["log"],
    )


def _combined(sorts: Mapping[str, tuple[float, Mapping[str, float]]]) -> dict[str, float]:
    """Return the probability of every pattern of all sorts."""
    return {
        pattern: share * weight / sum(patterns.values())
        for share, patterns in sorts.values()
        for pattern, weight in patterns.items()
    }


DEMO = _shape("demo", _DECLARED["demo"]["laws"], PatternTable(_combined(_DECLARED["demo"]["sorts"])))
ALTAVISTA, AOL = (
    _shape(name, _WEB["laws"], PatternTable(_WEB_PATTERNS, _DECLARED[name]["lengths"])) for name in ("altavista", "aol")
)
