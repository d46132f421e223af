"""Progress reports."""

from queryveil.core.progress import nested_progress, silent


def test_nested_progress_names_the_outer_stage_first() -> None:
    reports: list[tuple[str, int, int]] = []
    nested_progress("run 2 of 5", lambda *report: reports.append(report))("verifying", 3, 10)
    assert reports == [("run 2 of 5: verifying", 3, 10)]
    nested_progress("run 2 of 5", silent)("verifying", 3, 10)
