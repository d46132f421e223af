"""The document about attacks is ordered by risk, complete, self-contained, escaped and deterministic."""

import re
from typing import Any

from queryveil.attacks import DECLARATIONS
from queryveil.core.results import AttackResult, Rate, Risk
from queryveil.report.attacks import TITLE, TOO_WEAK, AttackReport, level_bounds, render_attack_report, risk_verdict
from tests.report.pages import HOSTILE, cells, chart_labels, headings, parse, text


def rate(value: float) -> Rate:
    return Rate(value, max(0, value - 0.01), min(1, value + 0.01))


def result(attack: str, risk_of: Risk, knowledge: str = "2 terms", **changes: Any) -> AttackResult:
    figures: dict[str, Any] = {
        "rate": rate(0.0123),
        "control": rate(0.01),
        "baseline": rate(0.0002),
        "risk": rate(0.0),
        "original": rate(0.766),
        "targets": 4840,
        "controls": 4840,
        "controlled_by": "the same people, each taken out of the release",
        "crowd": 67.0,
        "smallest": 5,
        **changes,
    }
    return AttackResult(attack, risk_of, knowledge, **figures)


RESULTS = (
    result("known_terms(m=2)", "singling out"),
    result("known_terms(m=2)", "singling out", "3 terms", note="more terms than the release protects against"),
    result("time", "linkability", crowd=None, smallest=None, rate=rate(0.35)),
    result("infer(m=2)", "inference", original=rate(0.1)),
)


def report(*results: AttackResult, **changes: Any) -> AttackReport:
    threats = {r.attack: "Somebody knows a little." for r in results}
    fields = {"skipped": {}, "threats": threats, "seed": 7, "queryveil": "0.1.0", "seconds": 1.0, **changes}
    return AttackReport("release", "log", "km(k=5, m=2)", results, **fields)


def test_every_risk_has_a_section_with_its_attacks() -> None:
    page = render_attack_report(report(*RESULTS, skipped={"vanity": "the log has none"}))
    tree = parse(page)
    assert headings(page) == [
        "Singling out",
        "Linkability",
        "Inference",
        "What was not tried",
        "How to read the figures",
    ]
    assert [text(heading) for heading in tree.iter("h3")] == ["known_terms(m=2)", "time", "infer(m=2)"]
    assert page.count("Somebody knows a little.") == 3
    assert "<title>" + TITLE in page
    assert "at most 35.0% success (time, knowing 2 terms)" in text(tree)
    assert "vanity : the log has none." in text(tree)
    assert "A published name that stands for several terms matches each of them." in text(tree)


def test_figures_are_shown_in_tables_and_charts() -> None:
    page = render_attack_report(report(*RESULTS))
    rows = cells(page, "Success of known_terms(m=2)")
    assert ["2 terms", "1.2%", "0.2 – 2.2", "76.6%", "<0.1%", "1.0%", "0.0%", "4,840", "67", "5"] in rows
    labels = chart_labels(page)
    assert labels[0].startswith("Bar chart of the success of an attack. 2 terms: original log 76.6%, release 1.2%")
    assert len(labels) == 3


def test_notes_name_limits_of_the_guarantee_and_weak_attacks() -> None:
    page = text(parse(render_attack_report(report(*RESULTS))))
    assert "3 terms : more terms than the release protects against." in page
    assert page.count("Control: the same people, each taken out of the release.") == 3
    assert page.count(TOO_WEAK[1:]) == 1
    assert "No attack of this kind could be run on this release." in text(
        parse(render_attack_report(report(RESULTS[0])))
    )


def test_hostile_text_is_escaped_and_nothing_is_loaded() -> None:
    page = render_attack_report(
        report(
            result(HOSTILE, "inference", HOSTILE, note=HOSTILE, controlled_by=HOSTILE),
            skipped={HOSTILE: HOSTILE},
            threats={HOSTILE: HOSTILE},
        )
    )
    assert "<script" not in page
    assert not re.search(r"(src|href)=", page)
    parse(page)
    assert page == render_attack_report(
        report(
            result(HOSTILE, "inference", HOSTILE, note=HOSTILE, controlled_by=HOSTILE),
            skipped={HOSTILE: HOSTILE},
            threats={HOSTILE: HOSTILE},
        )
    )


def test_every_attack_has_a_threat_in_plain_words() -> None:
    for declared in DECLARATIONS:
        assert declared.threat.startswith("Somebody ")
        assert "success" in declared.threat.lower() or "told" in declared.threat
        assert declared.kinds


def test_verdict_of_a_risk_names_the_attack_that_gains_most() -> None:
    def reached(name: str, rate: float, control: float, original: float = 0.9) -> AttackResult:
        def exact(value: float) -> Rate:
            return Rate(value, value, value)

        risk = exact((rate - control) / (1 - control))
        rates = exact(rate), exact(control), exact(0.01), risk, exact(original)
        return AttackResult(name, "inference", "1 term", *rates, 100, 100, "people")

    mild, strong = reached("mild", 0.5, 0.49), reached("strong", 0.3, 0.1)
    assert risk_verdict("inference", [mild, strong]) == (
        "The risk of inference is high: strong, knowing 1 term, succeeds in 30.0% of all cases, in 10.0% without the "
        "person's data, and in 90.0% on the log itself; a risk of 22.2% (95% interval 22.2 to 22.2%) comes from the "
        "release."
    )
    assert risk_verdict("inference", [mild]).startswith("The risk of inference is low: mild")
    assert risk_verdict("inference", [reached("weak", 0.0, 0.0, 0.1)]).endswith(
        f"comes from the release, but {TOO_WEAK}."
    )
    assert risk_verdict("linkability", []) == "Linkability was not tried, so nothing is known of it."
    assert level_bounds() == "low below 5.0%, moderate below 20.0%, high from there on"
