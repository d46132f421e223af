"""The recorded runs: every method, kind of release, target, principle and option, and what is done with releases."""

from collections.abc import Iterable, Iterator
from itertools import product

from tests.recorded.recording import Step

Scenario = tuple[Step, ...]
KM = "km(k=3, m=2)"
GROUPS = "linkability(p=0.4)"
VOCABULARY = "vocabulary(k=3, eps=6)"
TARGETS = ("logsize", "users", "distinct", "bid", "clicks", "impressions", "revenue", "file", "fis", "random")
WORTH = {"file": "--values values.csv"} | dict.fromkeys(
    ("bid", "clicks", "impressions", "revenue"), "--market market.csv"
)


def release(name: str, method: str, options: str = "", *, log: str = "log.tsv", private: bool = True) -> Step:
    """Return the step that makes the release `name` and the private folder `name.p`."""
    secret = f" --private {name}.p" if private else ""
    command = f"anonymize {log} --method '{method}' --out {name}{secret} --seed 1 --json {options}"
    return Step(name, command.strip())


def km_runs() -> Iterator[Step]:
    """Yield runs of km: sizes, targets, algorithms, kinds, histories and partitions."""
    for m, algorithm in product((1, 2, 3), ("best", "paper")):
        yield release(f"km-m{m}-{algorithm}", f"km(k=3, m={m}, algorithm={algorithm})")
    yield release("km-m4", "km(k=3, m=4)", log="small.tsv")
    for target, algorithm in product(TARGETS, ("best", "paper")):
        method = f"km(k=4, m=2, target={target}, algorithm={algorithm})"
        yield release(f"km-{target}-{algorithm}", method, WORTH.get(target, ""), log="small.tsv")
    yield release("km-without-private", KM, private=False)
    yield release("km-log", KM, "--kind log")
    yield release("km-log-keep", KM, "--kind log --keep time,rank,url --keep-floor 1")
    yield release("km-log-coarse", KM, "--kind log --keep time:day,rank:bucket,url:domain")
    yield release("km-log-keep-time", KM, "--kind log --keep time --history day")
    for history in ("session", "day", "window:2d"):
        yield release(f"km-{history.replace(':', '-')}", KM, f"--history {history}")
    yield release("km-partition", KM, "--partition-by country")
    yield release("km-partition-paper", "km(k=3, m=2, algorithm=paper)", "--partition-by country --history day")
    yield release("km-partition-log", KM, "--partition-by country --kind log --keep time --history session")
    yield release("km-too-strict", "km(k=200, m=1)")


def starting_runs() -> Iterator[Step]:
    """Yield runs that start from a release under a weaker guarantee."""
    yield release("weak", "km(k=3, m=1)")
    yield release("weak-day", KM, "--history day --partition-by country")
    yield release("weak-paper", "km(k=3, m=1, algorithm=paper)", "--kind log")
    start = "--start-from weak --start-from-private weak.p"
    yield release("from-weak", KM, start)
    yield release("from-another-target", "km(k=3, m=2, target=users)", start)
    start = "--start-from weak-paper --start-from-private weak-paper.p"
    yield release("from-weak-paper", "km(k=4, m=3, algorithm=paper)", f"{start} --kind log")
    yield release("from-another-kind", "km(k=4, m=3, algorithm=paper)", start)
    start = "--start-from weak-day --start-from-private weak-day.p"
    yield release("from-weak-day", "km(k=5, m=2)", f"{start} --history day --partition-by country")
    yield release("from-another-cleaning", "km(k=5, m=2)", f"{start} --history day")
    yield release("from-no-private", KM, "--start-from weak")
    yield release("from-another-log", KM, "--start-from weak --start-from-private weak.p", log="small.tsv")


def reading_runs() -> Iterator[Step]:
    """Yield runs with each log format and each option of reading and cleaning."""
    for log in ("aol.txt", "excite.txt", "ubi.jsonl", "baskets.txt", "log.tsv.gz"):
        yield release(f"read-{log}", "km(k=2, m=2)", log=log)
    columns = "--columns user=uid,query=words,time=ts,rank=position,url=link"
    yield release(
        "read-columns",
        "km(k=2, m=2)",
        f"{columns} --kind log --keep time,rank,url --keep-floor 1",
        log="other-names.csv",
    )
    yield release("read-two-files", "km(k=2, m=2)", log="small.tsv control.tsv")
    yield release("read-bad-line", "km(k=2, m=2)", log="bad.tsv")
    yield release("read-no-bad-line", "km(k=2, m=2)", "--max-bad-lines 0", log="bad.tsv")
    for number, options in enumerate(
        (
            "--no-scrub",
            "--duplicates keep --kind log",
            "--bots 0",
            "--bots 3 --bot-session gap --session-gap 10m",
            "--charset paper",
            "--stop-words english",
            "--history session --session-gap 2h",
        )
    ):
        yield release(f"clean-{number}", KM, options)


def linkability_runs() -> Iterator[Step]:
    """Yield runs that group people, by every principle and parameter, and those that continue older groups."""
    methods = (
        GROUPS,
        "linkability(p=0.4, a=0)",
        "linkability(p=0.4, a=2)",
        "linkability(p=0.4, closest=seed)",
        "linkability(p=0.4, average=global)",
        "linkability(p=0.4, principle=posterior)",
        "linkability(p=0.4, principle=belief)",
        "linkability(p=0.2, principle=diversity, l=5)",
        "linkability(p=0.2, principle=closeness, t=0.8)",
        "linkability(p=0.4, weighting=paper)",
        "linkability(p=0.4, representative=union)",
        "linkability(p=0.4, shrink=0.5)",
        "linkability(p=0.4, min_similarity=0.3)",
        "linkability(p=0.4, floor=1)",
        "linkability(p=0.3, a=2, closest=seed, average=global, weighting=paper, representative=union, floor=1)",
    )
    for number, method in enumerate(methods):
        yield release(f"groups-{number}", method)
    for weights in ("counts", "tfidf"):
        yield release(f"groups-{weights}", GROUPS, f"--weights {weights}")
    yield release("groups-drop", GROUPS, "--unknown-terms drop")
    yield release("groups-taxonomy", GROUPS, "--taxonomy taxonomy.csv")
    yield release("groups-cooccurrence", "linkability(p=0.4, a=2)", "--network cooccurrence")
    yield release("groups-profiles", GROUPS, log="profiles.csv")
    yield release("groups-profiles-posterior", "linkability(p=0.4, principle=posterior)", log="profiles.csv")
    older = "--groups groups-0 --groups-private groups-0.p"
    yield release("groups-later", GROUPS, older, log="later.tsv")
    yield release("groups-same-people", GROUPS, older)
    older = "--groups groups-later --groups-private groups-later.p"
    yield release("groups-back", GROUPS, older)
    older = "--groups groups-5 --groups-private groups-5.p"
    yield release("groups-later-posterior", methods[5], older, log="later.tsv")


def vocabulary_runs() -> Iterator[Step]:
    """Yield runs that make vocabularies, with every parameter."""
    choices = product(("vote", "bags", "generalize"), ("perfect", "maximum"), ("farthest", "first"))
    for typical, model, rule in choices:
        method = f"vocabulary(k=3, eps=6, model={model}, seed_rule={rule}, typical={typical})"
        log = "log.tsv" if typical == "generalize" else "small.tsv"
        yield release(f"vocabulary-{typical}-{model}-{rule}", method, log=log)
    methods = (
        "vocabulary(k=3, eps=4, omega=9)",
        "vocabulary(k=2, eps=6, floor=1)",
        "generalize(k=3)",
        "generalize(k=3, bags=false)",
        "generalize(k=3, floor=1)",
        "suppress(k=3)",
        "suppress(k=2, floor=1)",
    )
    for number, method in enumerate(methods):
        yield release(f"vocabulary-{number}", method)
    for name, method in (("vocabulary", VOCABULARY), ("generalize", "generalize(k=3)"), ("suppress", "suppress(k=3)")):
        yield release(f"{name}-taxonomy", method, "--taxonomy taxonomy.csv")
        yield release(f"{name}-day", method, "--history day --unknown-terms drop", log="small.tsv")
    yield release("vocabulary-cooccurrence", VOCABULARY, "--network cooccurrence", log="small.tsv")


def query_runs() -> Iterator[Step]:
    """Yield runs that release whole queries."""
    for number, method in enumerate(("query_k(k=1)", "query_k(k=2)", "query_k(k=4)", "query_k(share=0.3)")):
        yield release(f"queries-{number}", method)
    yield release("queries-keep", "query_k(k=2)", "--keep time,rank,url --keep-floor 1")
    yield release("queries-coarse", "query_k(k=2)", "--keep time:hour,url:domain")
    yield release("queries-day", "query_k(k=2)", "--history day --duplicates keep")
    for kept in ("none", "only"):
        yield release(f"ppp-{kept}", f"ppp(release={kept})")
        yield release(f"ppp-{kept}-keep", f"ppp(release={kept})", "--keep time --places places.txt")
    yield release("ppp-private-less", "ppp(release=none)", private=False)


def refused_runs() -> Iterator[Step]:
    """Yield requests that are refused, with the sentence that says why."""
    requests = (
        (KM, "--kind queries"),
        (KM, "--keep time"),
        (KM, "--kind log --keep colour"),
        (KM, "--kind log --keep time:week"),
        (KM, "--kind log --keep time,time:day"),
        (KM, "--keep-floor 3"),
        (KM, "--groups weak"),
        (KM, "--places places.txt"),
        (KM, "--start-from-private weak.p"),
        (KM, "--history year"),
        (KM, "--partition-by colour"),
        (KM, "--engine cloud"),
        (KM, "--spark-master local"),
        ("km(k=3)", ""),
        ("km(k=1, m=2)", ""),
        ("km(k=3, m=2, target=bid)", ""),
        ("km(k=3, m=2, target=file)", ""),
        ("km(k=3, m=2, target=sales)", ""),
        ("kn(k=3, m=2)", ""),
        ("query_k(k=2)", "--partition-by country"),
        ("query_k(k=2)", "--kind log"),
        ("query_k(k=2, share=0.5)", ""),
        ("query_k()", ""),
        ("ppp(release=all)", ""),
        (GROUPS, "--history day"),
        (GROUPS, "--partition-by country"),
        (GROUPS, "--keep time"),
        (GROUPS, "--groups-private weak.p"),
        (GROUPS, "--groups weak"),
        (GROUPS, "--taxonomy taxonomy.csv --network cooccurrence"),
        ("linkability(p=0.4, principle=diversity)", ""),
        ("linkability(p=0)", ""),
        (VOCABULARY, "--partition-by country"),
        (VOCABULARY, "--keep time"),
        (VOCABULARY, "--weights counts"),
        (VOCABULARY, "--groups weak"),
        (VOCABULARY, "--taxonomy no-such-file.csv"),
    )
    for number, (method, options) in enumerate(requests):
        yield release(f"refused-{number}", method, options)
    yield release("refused-groups-without-private", GROUPS, private=False)
    yield release("refused-no-file", KM, log="no-such-log.tsv")


BASE = {
    "histories": release("histories", KM),
    "days": release("days", KM, "--history day --partition-by country"),
    "log": release("log", KM, "--kind log --keep time,rank,url --keep-floor 1"),
    "groups": release("groups", GROUPS),
    "posterior": release("posterior", "linkability(p=0.4, principle=posterior)"),
    "vocabularies": release("vocabularies", VOCABULARY),
    "generalized": release("generalized", "generalize(k=3)"),
    "queries": release("queries", "query_k(k=3)"),
    "queries-day": release("queries-day", "query_k(k=2)", "--history day"),
    "ppp": release("ppp", "ppp(release=none)", "--places places.txt"),
}


def made(*names: str) -> Iterable[Step]:
    """Return the steps that make some of the releases other commands look at."""
    return (BASE[name] for name in names)


def verify(name: str, target: str, options: str = "") -> Step:
    """Return a step that verifies a release or a file."""
    return Step(f"verify-{name}", " ".join(f"verify {target} {options}".split()))


def verify_runs() -> Iterator[Step]:
    """Yield verifications: with and without the private folder, of other claims, of changed copies and of files."""
    yield from made(*BASE)
    for name in BASE:
        places = " --places places.txt" if name == "ppp" else ""
        yield verify(name, name, places)
        yield verify(f"{name}-private", name, f"--private {name}.p{places}")
        yield verify(f"{name}-wrong-private", name, f"--private {'days' if name != 'days' else 'log'}.p")
        for change in ("drop", "invent", "drop-forged", "invent-forged", "count", "claim", "lose"):
            copy = f"{name}-{change}"
            yield Step(f"tamper-{copy}", f"tamper {name} {copy} {change}")
            yield verify(copy, copy, places)
            yield verify(f"{copy}-private", copy, f"--private {name}.p{places}")
    claims = {
        "histories": ("km(k=9, m=2)", "km(k=3, m=3)", "query_k(k=2)", GROUPS, "vocabulary_k(k=2)"),
        "days": ("km(k=9, m=1)",),
        "groups": (
            "linkability(p=0.1)",
            "linkability(p=0.4, principle=posterior)",
            "linkability(p=0.4, average=global)",
        ),
        "posterior": (
            "linkability(p=0.4, principle=belief)",
            "linkability(p=0.3, principle=diversity, l=50)",
            "linkability(p=0.3, principle=closeness, t=0.2)",
            "km(k=3, m=2)",
        ),
        "vocabularies": ("vocabulary_k(k=9)", "km(k=3, m=1)"),
        "queries": ("query_k(k=20)", "ppp(release=none)", "ppp(release=only)", KM),
        "queries-day": ("query_k(k=9)",),
    }
    for name, others in claims.items():
        for number, claim in enumerate(others):
            yield verify(f"{name}-claim-{number}", name, f"--claim '{claim}' --private {name}.p")
    for number, claim in enumerate((KM, "query_k(k=2)", "ppp(release=none)", "vocabulary_k(k=2)", GROUPS)):
        yield verify(f"file-{number}", "released.csv", f"--claim '{claim}'")
    yield verify("file-unclaimed", "released.csv")
    yield verify("file-private", "released.csv", f"--claim '{KM}' --private days.p")
    yield verify("ppp-without-places", "ppp")
    yield verify("nothing", "no-such-release")


PAIR_MEASURES = ("spi", "jsd", "impressions", "pel", "'pel(estimate=joint)'", "exposed", "worst", "'worst(q=50)'")


def measure(name: str, target: str, measures: Iterable[str] = (), options: str = "", log: str = "log.tsv") -> Step:
    """Return a step that measures a release."""
    flags = "".join(f" --measure {text}" for text in measures)
    return Step(f"measure-{name}", f"measure {target} --against {log} --json{flags} {options}".strip())


def measure_runs() -> Iterator[Step]:
    """Yield every measure on the kinds of release it is about."""
    yield from made("histories", "days", "log", "groups", "vocabularies", "generalized", "queries", "ppp")
    terms = ("retention", "market", "'unique(m=1)'", "'unique(m=3)'", "correlations")
    for name in ("histories", "days", "log"):
        yield measure(f"{name}-terms", name, terms, f"--private {name}.p --market market.csv --seed 3")
        yield measure(f"{name}-pairs", name, PAIR_MEASURES, f"--private {name}.p")
    for name in ("queries", "ppp"):
        yield measure(f"{name}-all", name, (*PAIR_MEASURES, "retention", "'unique(m=2)'"), f"--private {name}.p")
        yield measure(f"{name}-words", name, ("spi", "jsd"), f"--private {name}.p --match words --words sensitive.txt")
        yield measure(f"{name}-default", name, (), f"--private {name}.p")
    for name in ("vocabularies", "generalized"):
        measures = ("blm", "'blm(penalty=2)'", "lm", "patterns", "'patterns(n=50, eps=4)'")
        yield measure(f"{name}-all", name, measures, f"--private {name}.p")
        yield measure(f"{name}-default", name, (), f"--private {name}.p")
    yield Step("index", "index documents.jsonl --out index --json")
    options = "--private groups.p --index index --seed 2"
    yield measure(
        "groups-all",
        "groups",
        ("'linkability(p=0.3)'", "'search(people=40, queries=2, depth=10, relevant=3)'"),
        options,
    )
    yield measure("groups-default", "groups", (), "--private groups.p")
    yield measure("histories-public", "histories", ("retention", "'unique(m=2)'"))
    yield measure("histories-default", "histories")
    yield measure("any-log", "released.csv", PAIR_MEASURES, "--map map.csv --match partial")
    yield measure("wrong-kind", "groups", ("blm",), "--private groups.p")
    yield measure("no-market", "histories", ("market",))
    yield measure("no-private", "groups", ("'linkability(p=0.3)'",))
    yield measure("no-log", "days", ("retention",), "--private days.p", log="no-such-log.tsv")


def attack_runs() -> Iterator[Step]:
    """Yield every attack on the kinds of release it applies to."""
    names = ("histories", "days", "log", "groups", "vocabularies", "queries")
    yield from made(*names)
    for name in names:
        yield Step(f"attack-{name}", f"attack {name} --against log.tsv --private {name}.p --targets 60 --json --seed 1")
    control = "attack histories --against log.tsv --private histories.p --control control.tsv --targets 40 --json"
    yield Step("attack-control", f"{control} --attack 'known_terms(m=2, wrong=2, of=release)' --attack 'infer(m=1)'")
    yield Step("attack-public", "attack histories --against log.tsv --attack 'known_terms(m=1)' --targets 40 --json")
    yield Step("attack-unknown", "attack histories --against log.tsv --attack 'guess(m=1)' --json")


def compare_runs() -> Iterator[Step]:
    """Yield comparisons of methods on one log."""
    sweep = "compare small.tsv --method 'km(k=2|3, m=1|2|3)' --json"
    yield Step("compare-sweep", sweep)
    yield Step("compare-no-reuse", f"{sweep} --no-reuse --history day")
    methods = "--method 'km(k=3, m=2, target=bid|users)' --method 'km(k=3, m=2, algorithm=paper)'"
    measures = "--measure retention --measure 'unique(m=2)' --measure market --market market.csv"
    yield Step("compare-targets", f"compare log.tsv {methods} {measures} --partition-by country --json --seed 4")
    yield Step("compare-unknown", "compare log.tsv --method 'kn(k=2)' --json")


def other_runs() -> Iterator[Step]:
    """Yield the commands that make no release: why, profiles, sensitivity, search."""
    yield from made("histories", "groups")
    for name, options in (("person", "--user p3"), ("term", "--user p4 --term dog"), ("nobody", "--user nobody")):
        yield Step(f"why-{name}", f"why histories --private histories.p {options} --json")
    for weights in ("paper", "counts", "tfidf"):
        yield Step(f"profiles-{weights}", f"profiles log.tsv --out {weights}.csv --weights {weights} --json")
    yield Step("sensitivity", "sensitivity explain 'breast cancer insurance dog' --words sensitive.txt --json")
    yield Step("sensitivity-train", "sensitivity train labels.csv --out model.json --json")
    yield Step("index", "index documents.jsonl --out index --json")
    for name, options in (
        ("plain", "--plain"),
        ("group", "--as-group 0 --groups groups --explain"),
        ("user", "--as-user p7 --profiles profiles.csv --blend 0.3"),
    ):
        yield Step(f"search-{name}", f"search index 'dog hotel' {options} --json")


def reproduce_runs() -> Iterator[Step]:
    """Yield the evaluations of papers on small logs."""
    yield Step("burghardt", "reproduce burghardt --log log.tsv --market market.csv --json")
    yield Step("liu", "reproduce liu --log small.tsv --json")
    yield Step("carpineto", "reproduce carpineto --log small.tsv --json")
    yield Step("burghardt-too-few", "reproduce burghardt --log small.tsv --market market.csv --json")
    yield Step("zhu-too-few", "reproduce zhu --log small.tsv --json")
    yield Step("nobody", "reproduce nobody --json")


def printed_runs() -> Iterator[Step]:
    """Yield commands whose result is printed for people, not as JSON."""
    for name, step in BASE.items():
        yield Step(name, step.command.replace(" --json", ""))
        private = f"--against log.tsv --private {name}.p"
        yield Step(f"measure-{name}", f"measure {name} {private}")
    yield Step("verify-json", "verify days --private days.p --json")
    yield Step("verify-json-violated", "verify days --claim 'km(k=9, m=2)' --json")
    yield Step("attack", "attack log --against log.tsv --private log.p --targets 30")
    yield Step("compare", "compare small.tsv --method 'km(k=2|3, m=1|2)' --measure retention")
    yield Step("why", "why histories --private histories.p --user p3")
    yield Step("profiles", "profiles log.tsv --out profiles-of-log.tsv")
    yield Step("sensitivity", "sensitivity explain 'breast cancer insurance dog'")
    yield Step("list-targets", "list targets")


SCENARIOS: dict[str, Scenario] = {
    "km": tuple(km_runs()),
    "starting": tuple(starting_runs()),
    "reading": tuple(reading_runs()),
    "linkability": tuple(linkability_runs()),
    "vocabulary": tuple(vocabulary_runs()),
    "queries": tuple(query_runs()),
    "refused": tuple(refused_runs()),
    "verify": tuple(verify_runs()),
    "measure": tuple(measure_runs()),
    "attack": tuple(attack_runs()),
    "compare": tuple(compare_runs()),
    "other": tuple(other_runs()),
    "printed": tuple(printed_runs()),
    "reproduce": tuple(reproduce_runs()),
}
