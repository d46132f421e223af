"""Pages say in place of a verdict what is no anonymity: of a run, of its release, and in lists of runs."""

import re

from queryveil.measures import UNIQUE
from tests.serve.conftest import Lab
from tests.serve.serving import start, wait_for_end

MARK = '<span class="caution">content filter, no anonymity</span>'


def test_a_content_filter_is_marked_wherever_a_run_of_it_is_shown(lab: Lab) -> None:
    run = start(lab.client, lab.log, "filtered", "ppp(release=none)")
    assert wait_for_end(lab.client, run)["state"] == "done"
    for address in (f"/runs/{run}", f"/releases/{run}"):
        page = lab.client.get(address).text
        assert re.search(r'<div class="verdict cautioned">\s*<h\d>Content filter, no anonymity</h\d>', page)
        assert ">The guarantee holds<" not in page
        assert "stand at least 1 people" not in page
    tried = lab.client.get(f"/try?log={lab.log}").text
    assert tried.count(MARK) == 3  # in the list of runs, in the comparison and among all its figures
    assert "private word, or only those with one (content filter, no anonymity)</span>" in tried
    assert lab.client.get("/").text.count(MARK) == 1


def test_other_runs_are_not_marked(lab: Lab) -> None:
    page = lab.client.get(f"/runs/{lab.release}").text
    assert '<div class="verdict holds">' in page
    assert "caution" not in page


def test_measures_are_explained_below_their_table(lab: Lab) -> None:
    page = lab.client.get(f"/releases/{lab.release}").text
    assert f"singled out by 3 random terms</strong>: {UNIQUE.purpose}." in page
    assert re.search(r'<td class="number">[\d.]+%<br><span class="soft">[\d.]+% to [\d.]+%</span></td>', page)
