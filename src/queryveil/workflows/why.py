"""Why a term is not in a release: for its owner, who holds the private folder. Nothing is written."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.core.errors import InputError, ReleaseError
from queryveil.core.names import ResolvedName, resolve
from queryveil.core.progress import Progress, silent
from queryveil.logs.characters import fold
from queryveil.logs.options import Cleaning
from queryveil.release import private as privates
from queryveil.release.reader import Release, load
from queryveil.workflows.fates import Fate, Why
from queryveil.workflows.holdings import Log, Rows, load_log
from queryveil.workflows.reasons import Search
from queryveil.workflows.requests import WhyRequest


def why(request: WhyRequest, *, progress: Progress = silent) -> Why:
    """Say of every term of a person's histories, or of one term, whether it is in the release and if not, why."""
    release, private = request.release, request.private
    loaded = load(release, check_rows=False)
    if loaded.faults:
        raise ReleaseError(f"{release}: {loaded.faults[0]}; verify the release.")
    bound = resolve("guarantee", loaded.manifest["guarantee"])
    if bound.declaration.name != "km":
        raise InputError(f"{release} promises {bound}, and reasons are known for km only.")
    privates.check_belongs(private, loaded.manifest["content_sha256"])
    membership = privates.load_membership(private)
    histories = _histories_of(membership, request.user, request.history)
    log = load_log(private, membership)
    wanted = None if request.term is None else _term(log, histories, request.term, loaded)
    concerned = log.mark(histories)
    original, released = log.rows.only(concerned), log.released(loaded, concerned)
    fates: list[Fate] = []
    for number, one in enumerate(histories):
        progress("looking for reasons", number, len(histories))
        fates += _fates(log, original, released, one, wanted, bound)
    progress("looking for reasons", len(histories), len(histories))
    return Why(request.user, str(bound), bound.integer("k"), tuple(fates))


def _histories_of(membership: pa.Table, person: str, history: int | None) -> list[int]:
    """Return the histories of a person, or the one asked for."""
    own = membership.filter(pc.equal(membership["person"], person))["history"].to_pylist()
    if not own:
        raise InputError("the private folder knows nobody by that name; give --user as it stands in the log.")
    if history is None:
        return [int(number) for number in own]
    if history not in own:
        several = f"who has {len(own):,} from {min(own)} to {max(own)}; give one of these."
        single = f"whose only history is {own[0]}; give that, or leave it out."
        which = single if len(own) == 1 else several
        raise InputError(f"--history {history} is not a history of this person, {which}")
    return [history]


def _term(log: Log, histories: Sequence[int], term: str, release: Release) -> int:
    """Return the number of a term that the person's histories hold, folded as the log's terms are."""
    folded = fold(term, Cleaning.from_record(release.manifest["cleaning"]["options"]).charset).strip()
    number = log.terms.index(pa.scalar(folded)).as_py()
    if number < 0 or not any(number in log.rows.term[log.row(history)] for history in histories):
        raise InputError(f"--term {term!r} is in none of these histories; check the spelling, or leave it out.")
    return int(number)


def _fates(
    log: Log, original: Rows, released: Rows, history: int, wanted: int | None, bound: ResolvedName
) -> list[Fate]:
    """Say of the terms of a history, or of the one that is wanted, what became of them; removed ones first."""
    row = log.row(history)
    terms, counts, part = log.rows.term[row], log.count[row], int(log.rows.part[history])
    texts = log.terms.take(pa.array(terms)).to_pylist()  # from here on a term is its place in the row
    before, after = (rows.postings(terms, part, len(log.terms)) for rows in (original, released))
    in_order = sorted(range(len(texts)), key=texts.__getitem__)
    kept = [place for place in in_order if log.release_id[history] in after.of(place)]
    search = Search(after, int(log.rows.owner[history]), kept, k=bound.integer("k"), m=bound.integer("m"))
    fates = []
    for place in sorted(in_order, key=set(kept).__contains__):
        if wanted is not None and terms[place] != wanted:
            continue
        fate = Fate(history, texts[place], int(counts[place]), place in kept)
        found = None if fate.kept else search.smallest(place)
        if found is not None:
            places = sorted((place, *found.others), key=texts.__getitem__)
            names, in_log = tuple(texts[other] for other in places), before.people_holding(places)
            fate = replace(fate, combination=names, people=found.people, people_in_log=in_log)
        fates.append(fate)
    return fates
