"""Input files of the recorded runs: logs, tables and lists, made by plain Python from fixed seeds.

Nothing here uses queryveil, so that a change of its generator does not change the inputs.
"""

import gzip
import json
import random
from datetime import datetime, timedelta
from pathlib import Path

TOPICS = {
    "pets": "dog puppy cat kitten horse rabbit hamster parrot goldfish leash",
    "food": "bread cheese apple banana soup salad pizza pasta butter recipe",
    "cars": "car truck engine tire brake garage motorcycle driver gasoline highway",
    "health": "doctor nurse hospital fever cancer diabetes headache pregnancy pill diet",
    "sport": "football tennis soccer golf baseball hockey swimming running ticket stadium",
    "home": "sofa chair table lamp carpet kitchen bedroom window roof mortgage",
    "music": "guitar piano violin song lyrics concert singer drum radio album",
    "travel": "hotel flight beach island passport luggage train museum map cruise",
    "money": "bank loan credit tax insurance lottery salary stock pension bankruptcy",
    "web": "myspace youtube ebay google mapquest craigslist wikipedia yahoo ipod xbox",
}
PHRASES = (
    "mary smith",
    "john williams address",
    "hotel boston",
    "map of chicago",
    "divorce lawyer",
    "how to lose weight",
    "the best pizza in paris",
    "Café Münster",
    "new york lottery",
    "free music",
)
IDENTIFIERS = (
    "me@example.org password",
    "call 555-123-4567 now",
    "card 4111 1111 1111 1111",
    "id 123456789012",
    "http://example.org/page?user=7 login",
)
COUNTRIES = ("de", "de", "de", "fr", "fr", "li")
HEADER = ("user", "query", "time", "rank", "url", "country")
START = datetime(2006, 3, 1, 8)

Row = tuple[str, str, datetime, str, str, str]  # the columns of HEADER


def make_rows(people: int, seed: int, *, first: int = 0) -> list[Row]:
    """Return the queries of people who each prefer one topic, with repeated rows, identifiers and one bot."""
    rng = random.Random(seed)
    topics = [words.split() for words in TOPICS.values()]
    rows: list[Row] = []
    for person in range(first, first + people):
        country = COUNTRIES[person % 97 % len(COUNTRIES)] if person % 29 else "at"
        for _ in range(rng.randrange(3, 9)):
            time = START + timedelta(days=rng.randrange(6), minutes=rng.randrange(600), seconds=rng.randrange(60))
            query = _query(rng, topics, topics[person % len(topics)])
            rank, url = (
                ("", "") if rng.random() < 0.4 else (str(rng.randrange(1, 9)), f"http://s{rng.randrange(9)}.org")
            )
            row = (f"p{person}", query, time, rank, url, country)
            rows += [row] * (2 if rng.random() < 0.15 else 1)
    bot = [(f"bot{first}", topics[i % 10][i % 7], START + timedelta(seconds=20 * i), "", "", "de") for i in range(120)]
    return rows + bot


def _query(rng: random.Random, topics: list[list[str]], preferred: list[str]) -> str:
    """Return a query: mostly words of the preferred topic, the first ones of a topic most often."""
    draw = rng.random()
    if draw < 0.08:
        return rng.choice(PHRASES)
    if draw < 0.11:
        return rng.choice(IDENTIFIERS)
    topic = preferred if rng.random() < 0.7 else rng.choice(topics)
    return " ".join(topic[min(rng.randrange(10), rng.randrange(10))] for _ in range(rng.choice((1, 1, 1, 2, 2, 3))))


def table(rows: list[Row], header: tuple[str, ...] = HEADER, separator: str = "\t") -> str:
    """Return rows as a delimited table."""
    return "".join(separator.join(map(str, row)) + "\n" for row in (header, *rows))


def write_inputs(folder: Path) -> None:
    """Write every input file of the recorded runs into a folder."""
    rows = make_rows(150, 1)
    files = {
        "log.tsv": table(rows),
        "small.tsv": table(make_rows(60, 2)),
        "later.tsv": table(make_rows(165, 1)[40:]),  # some people left, others joined
        "control.tsv": table(make_rows(80, 3, first=500)),
        "bad.tsv": table(rows[:200]) + "p3\tno other column\n",
        "other-names.csv": table(rows[:400], ("uid", "words", "ts", "position", "link", "land"), ","),
        "aol.txt": table([row[:5] for row in rows[:400]], ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")),  # type: ignore[misc]
        "excite.txt": "".join(f"{r[0]}\t{r[2]:%y%m%d%H%M%S}\t{r[1]}\n" for r in rows[:400]),
        "ubi.jsonl": "".join(
            json.dumps({"client_id": r[0], "user_query": r[1], "timestamp": f"{r[2]:%Y-%m-%dT%H:%M:%SZ}"}) + "\n"
            for r in rows[:400]
        ),
        "baskets.txt": "".join(
            f"{' '.join(sorted({str(len(w)) for w in r[1].split()}))} {i % 4}\n" for i, r in enumerate(rows[:200])
        ),
        **_lists(rows),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "log.tsv.gz").write_bytes(gzip.compress(files["log.tsv"].encode(), mtime=0))


def _lists(rows: list[Row]) -> dict[str, str]:
    """Return the tables and lists that options take: market, values, taxonomy, profiles, places, documents, …."""
    rng = random.Random(9)
    words = {word: topic for topic, text in TOPICS.items() for word in text.split()}
    profiles = sorted({(row[0], word) for row in rows for word in row[1].split() if word in words})
    documents = [f"{topic} {word} {' '.join(rng.sample(TOPICS[topic].split(), 4))}" for word, topic in words.items()]
    return {
        "market.csv": "term,bid,clicks,impressions\n"
        + "".join(f"{word},{rng.randrange(1, 300) / 100},{rng.randrange(50)},{rng.randrange(900)}\n" for word in words),
        "values.csv": "term,value\n" + "".join(f"{word},{rng.randrange(1, 100)}\n" for word in words),
        "taxonomy.csv": "child,parent\n"
        + "".join(f"{topic},everything\n" for topic in TOPICS)
        + "".join(f"{word},{topic}\n" for word, topic in words.items()),
        "profiles.csv": "user,term,weight\n"
        + "".join(f"{person},{word},{rng.randrange(1, 40) / 8}\n" for person, word in profiles),
        "places.txt": "# places that WordNet lacks\nmyspace\nstadium\n",
        "sensitive.txt": "mortgage\nlottery\n",
        "documents.jsonl": "".join(
            json.dumps({"id": f"d{i}", "title": text.split()[1], "text": text}) + "\n"
            for i, text in enumerate(documents)
        ),
        "labels.csv": "query,label\n"
        + "".join(
            f"{word} {rng.choice(TOPICS[topic].split())},{int(topic in ('health', 'money'))}\n"
            for word, topic in words.items()
        ),
        "map.csv": "original,released\n" + "".join(f"p{i},{100 + i}\n" for i in range(40)),
        "released.csv": "user,query\n"
        + "".join(f"{100 + int(r[0][1:])},{r[1].split()[0]}\n" for r in rows if r[0] in {f"p{i}" for i in range(40)}),
    }
