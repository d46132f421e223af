"""The page about attacks on a release, in the regulators' three words, with the threat behind every figure.

The words are those of the Article 29 Working Party's opinion 05/2014 on anonymisation techniques. The page names no
person and no term.
"""

from collections.abc import Mapping, Sequence

from queryveil.core.results import AttackResult, Rate, Risk
from queryveil.report.attack_charts import attack_chart
from queryveil.report.attacked import Attacked, interval
from queryveil.report.document import document
from queryveil.report.figures import number, percent
from queryveil.report.markup import Markup, facts, join, table, tag

TITLE = "Attacks on a released search log"
QUESTIONS: Mapping[Risk, str] = {
    "singling out": "Can a person be isolated in the release by somebody who knows a little about that person?",
    "linkability": "Can what the release shows be tied to another record about the same person or the same group?",
    "inference": "Can something be learnt from the release about a person that was not known before?",
}
WEAK = 0.2  # of success in the log: below it an attack is too weak to show anything
TOO_WEAK = "the attack succeeds seldom on the log itself, so that its failing here shows little"
COLUMNS = {
    "Success": "against the release, with its 95% interval",
    "Control": "the same attack on people who are not in what is attacked",
    "Guess": "without the release, or pointing at anybody in it",
    "Risk": "(success − control) ÷ (1 − control), at least 0: what the person's own data gives away",
    "Log": "the same attack on the original log with pseudonyms only: what the release is to prevent",
}


def render_attacks(done: Attacked) -> str:
    """Return the page; the same input gives the same bytes."""
    sections = (
        _summary(done),
        *(_risk_section(risk, done) for risk in QUESTIONS),
        _skipped_section(done.skipped),
        _reading_section(done),
    )
    return document(TITLE, f"queryveil {done.queryveil}", sections, styles=("style.css", "comparison.css"))


def _summary(done: Attacked) -> Markup:
    pairs = [
        ("Guarantee of the release", tag("code", done.guarantee)),
        ("Kind of release", done.kind),
        *((risk.capitalize(), _worst([r for r in done.results if r.risk_of == risk])) for risk in QUESTIONS),
    ]
    return tag(
        "section",
        tag("p", "What somebody who knows something about a person gets out of the release, tried out on its people."),
        facts(pairs),
    )


def _worst(results: Sequence[AttackResult]) -> str:
    """Say which attack reached most."""
    if not results:
        return "not tried"
    worst = max(results, key=lambda result: result.rate.value)
    return f"at most {_share(worst.rate)} success ({worst.attack}, knowing {worst.knowledge})"


def _risk_section(risk: Risk, done: Attacked) -> Markup:
    """Show the attacks of one risk, each with its threat."""
    attacks = dict.fromkeys(result.attack for result in done.results if result.risk_of == risk)
    parts = [
        _attack(name, done.threats.get(name, ""), [r for r in done.results if r.risk_of == risk and r.attack == name])
        for name in attacks
    ]
    nothing = tag("p", "No attack of this kind could be run on this release.")
    return tag("section", tag("h2", risk.capitalize()), tag("p", QUESTIONS[risk]), *(parts or [nothing]))


def _attack(name: str, threat: str, results: Sequence[AttackResult]) -> Markup:
    heads = ("Known", "Success", "95% interval", "Control", "Guess", "Risk", "Log", "Targets", "Crowd", "Least")
    rows = [
        (
            result.knowledge,
            _share(result.rate),
            interval(result.rate),
            _share(result.control),
            _share(result.baseline),
            _share(result.risk),
            _share(result.original),
            number(result.targets),
            "–" if result.crowd is None else f"{result.crowd:,.0f}",
            number(result.smallest) if result.smallest is not None else "–",
        )
        for result in results
    ]
    made = table(f"Success of {name}", heads, rows, numbers=range(1, len(heads)))
    caption = "Success against the release beside its control and the same attack on the original log."
    return join(
        (
            tag("h3", tag("code", name)),
            tag("p", threat),
            tag("div", tag("figure", attack_chart(results), tag("figcaption", caption)), class_="charts"),
            tag("div", made, class_="wide", role="region", aria_label=name, tabindex="0"),
            _notes(results),
        )
    )


def _notes(results: Sequence[AttackResult]) -> Markup:
    """Say who was attacked in the control, what goes beyond the promise, and where an attack is too weak."""
    about: dict[str, list[str]] = {}
    for result in results:
        about.setdefault(f"control: {result.controlled_by}", []).append(result.knowledge)
        if result.note:
            about.setdefault(result.note, []).append(result.knowledge)
        if result.original.value < WEAK:
            about.setdefault(TOO_WEAK, []).append(result.knowledge)
    lines = [
        join((f"{note[0].upper()}{note[1:]}.",))
        if len(known) == len(results)
        else join((tag("b", "; ".join(known)), f": {note}."))
        for note, known in about.items()
    ]
    return tag("ul", *(tag("li", line) for line in lines), class_="notes")


def _skipped_section(skipped: Mapping[str, str]) -> Markup:
    if not skipped:
        return Markup()
    lines = [tag("li", tag("code", name), f": {why}.") for name, why in skipped.items()]
    return tag("section", tag("h2", "What was not tried"), tag("ul", *lines))


def _reading_section(done: Attacked) -> Markup:
    lines = [tag("li", tag("b", name), f": {what}.") for name, what in COLUMNS.items()]
    return tag(
        "section",
        tag("h2", "How to read the figures"),
        tag("ul", *lines),
        tag(
            "p",
            "Success is what counts for an attacker who knows that the person is in the release; risk is what counts "
            "for one who does not. Targets are drawn at random, and so is what is known of them "
            f"(seed {done.seed}); the people in a crowd are counted exactly. The crowd is the median number of people "
            "that a target who was found hides among, and least the smallest.",
        ),
        tag(
            "p",
            "An attack that fails proves nothing about other attacks: these figures show what is possible, not that "
            "more is not.",
            class_="warning",
        ),
    )


def _share(rate: Rate) -> str:
    return percent(100 * rate.value)
