"""Progress reports."""

import pytest

from queryveil.core.progress import Progress, Timings, batches, nested_progress, running_beside, silent


def test_nested_progress_names_the_outer_stage_first() -> None:
    reports: list[tuple[str, int, int]] = []
    nested_progress("run 2 of 5", lambda *report: reports.append(report))("verifying", 3, 10)
    assert reports == [("run 2 of 5: verifying", 3, 10)]
    nested_progress("run 2 of 5", silent)("verifying", 3, 10)


@pytest.mark.parametrize(("n", "size"), [(0, 3), (1, 3), (3, 3), (7, 3)])
def test_batches_cover_all_elements_and_report_the_end(n: int, size: int) -> None:
    reports: list[tuple[str, int, int]] = []
    found = list(batches(n, size, "work", lambda *report: reports.append(report)))
    assert [i for part in found for i in range(part.start, part.stop)] == list(range(n))
    assert all(part.stop - part.start <= size for part in found)
    assert reports == [*(("work", part.start, n) for part in found), ("work", n, n)]


def test_timings_add_up_the_stages_and_pass_reports_on() -> None:
    reports: list[tuple[str, int, int]] = []
    timings = Timings(lambda *report: reports.append(report))
    for stage in ("reading", "deleting, pass 1", "deleting, pass 2", "reading", "writing"):
        timings(stage, 1, 2)
    sum(range(200_000))  # takes some processor time
    found = {each.stage: each for each in timings.stages()}
    assert list(found) == ["starting", "reading", "deleting", "writing"]
    assert all(each.wall >= 0 and each.cpu >= 0 for each in found.values())
    assert found["writing"].cpu > 0
    assert [stage for stage, _, _ in reports] == ["reading", "deleting", "deleting", "reading", "writing"]
    assert [line.split()[0] for line in str(timings).splitlines()] == ["stage", *found, "all"]


def test_work_beside_a_block_gives_its_result() -> None:
    with running_beside(lambda progress: 7) as found:
        pass
    assert found.result() == 7


def test_an_error_in_the_block_ends_the_work_beside_it() -> None:
    def report_forever(progress: Progress) -> None:
        while True:
            progress("working", 0, 1)

    with pytest.raises(ValueError, match="of the block"), running_beside(report_forever) as work:
        raise ValueError("of the block")
    with pytest.raises(InterruptedError):
        work.result()
