"""The interpretation of the figures: what they mean and what they do not, in plain words with the numbers found."""

from queryveil.experiments.zhu.figures import PAPER_AP, USUAL, estimate, format_percent
from queryveil.experiments.zhu.grid import DEFAULTS, LEVELS, PAPERS, PS, USUAL_A, USUAL_P, WORST, GroupGrid
from queryveil.search.evaluation.metrics import AP_ALL, AP_TOP
from queryveil.search.evaluation.variants import (
    EVERYBODY,
    GROUPS,
    GROUPS_WITHOUT_SELF,
    RANDOM_GROUPS,
    RANDOM_WITHOUT_SELF,
    UNPERSONALISED,
)


def interpret(grid: GroupGrid) -> tuple[str, ...]:
    """Return one paragraph per question that the figures answer or leave open."""
    return (_headline(grid), _left_out(grid), _everybody(grid), _levels(grid), _privacy(grid), _limits())


def _headline(grid: GroupGrid) -> str:
    cell = USUAL[PAPERS]
    ours, random = (format_percent(estimate(grid, cell, variant, AP_TOP)) for variant in (GROUPS, RANDOM_GROUPS))
    return (
        f"What a member gets: groups rank as one's own profile would by {AP_TOP} of {ours} % (the paper: {PAPER_AP} "
        f"%). Random groups of the same sizes reach {random} %. Most of the headline is that a person is a large part "
        "of their own group, not that the group is alike."
    )


def _left_out(grid: GroupGrid) -> str:
    parts = []
    for p in (USUAL_P, PS[0]):
        figures = grid.runs[PAPERS, p, USUAL_A].figures
        ratio = grid.resamples.ratio(figures[GROUPS_WITHOUT_SELF][AP_ALL], figures[RANDOM_WITHOUT_SELF][AP_ALL])
        share = "" if ratio is None else f", {ratio.value:.2f} times as much ({ratio.low:.2f}–{ratio.high:.2f})"
        ours, random = (100 * figures[variant][AP_ALL].mean() for variant in (GROUPS_WITHOUT_SELF, RANDOM_WITHOUT_SELF))
        parts.append(f"{ours:.1f} % against {random:.1f} % at p = {p:g}{share}")
    return (
        f"What the others contribute: with the person's own profile left out, the groups reach an {AP_ALL} of "
        f"{'; '.join(parts)}. The second figure of each is that of random groups, left out likewise; what lies above "
        "it is what likeness is worth."
    )


def _everybody(grid: GroupGrid) -> str:
    cell = USUAL[PAPERS]
    found = {
        v: format_percent(estimate(grid, cell, v, AP_ALL)) for v in (EVERYBODY, UNPERSONALISED, GROUPS_WITHOUT_SELF)
    }
    return (
        f"The simple alternatives at p = {USUAL_P}: one group of everybody has an {AP_ALL} of "
        f"{found[EVERYBODY]} %, no personalisation {found[UNPERSONALISED]} %, the groups without oneself "
        f"{found[GROUPS_WITHOUT_SELF]} %. "
        "Few other people may say less about a person than all people together do."
    )


def _levels(grid: GroupGrid) -> str:
    parts = []
    for settings in (PAPERS, DEFAULTS):
        low, high = (
            grid.runs[settings, USUAL_P, a].figures[GROUPS_WITHOUT_SELF][AP_ALL] for a in (LEVELS[0], LEVELS[-1])
        )
        change = grid.resamples.difference(high, low)
        parts.append(
            f"{100 * change.value:+.1f} points ({100 * change.low:+.1f} to {100 * change.high:+.1f}) by {settings}"
        )
    return (
        f"Augmentation: from a = {LEVELS[0]} to a = {LEVELS[-1]} the left-out {AP_ALL} changes by "
        f"{' and '.join(parts)}. The paper reads its figure 3 as the higher a the better; an interval that holds 0 "
        "bears neither that nor the opposite out."
    )


def _privacy(grid: GroupGrid) -> str:
    worst = grid.runs[USUAL[PAPERS]].privacy[WORST]
    return (
        f"Privacy: the linking probability of figure 6 is a mean over a group's terms. The worst term of a group is "
        f"held by {100 * worst:.0f} % of its members on average, whatever p says; principle=posterior bounds each term."
    )


def _limits() -> str:
    return (
        "What the figures do not mean: nobody judged a document. What counts as relevant is what the person's own "
        "profile ranks first among the engine's results, so a perfect figure would mean no loss against that profile, "
        "not good search; and a query is made of terms of that profile, which favours whatever knows these terms."
    )
