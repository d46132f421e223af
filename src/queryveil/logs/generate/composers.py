"""How a fresh query is worded: one composer for each kind of query."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from queryveil.logs.generate import identifiers
from queryveil.logs.generate.invented import handles, model_numbers
from queryveil.logs.generate.people import FAVOURITE_SITES, People
from queryveil.logs.generate.shape import Shape
from queryveil.logs.generate.stock import Stock, full_names


@dataclass(frozen=True, eq=False)
class Scene:
    """The queries that one composer is to word: who asks, about which topic, and what there is to draw from."""

    owners: NDArray[np.int64]  # (queries,)
    topics: NDArray[np.int64]  # (queries,)
    people: People
    stock: Stock
    shape: Shape
    rng: np.random.Generator

    def __len__(self) -> int:
        return len(self.owners)

    def forms(self, *weights: float) -> list[int]:
        """Draw the form of every query by weight."""
        bounds = np.cumsum(weights) / sum(weights)
        return np.searchsorted(bounds[:-1], self.rng.random(len(self)), side="right").tolist()  # type: ignore[no-any-return]

    def home(self) -> list[tuple[str, str]]:
        """Return the home town and state of everybody who asks."""
        found = (self.people.towns[owner].partition(", ") for owner in self.owners.tolist())
        return [(town, state) for town, _, state in found]


def _topic(scene: Scene) -> list[str]:
    """Word queries about a topic: "easy chicken soup recipes"."""
    stock, rng = scene.stock, scene.rng
    phrases = [
        _plural(phrase) if many else phrase
        for phrase, many in zip(stock.phrases.draw(scene.topics, rng), rng.random(len(scene)) < 0.3, strict=True)
    ]
    others = stock.phrases.draw(scene.topics, rng)
    companions = stock.companions.draw(scene.topics, rng)
    parts = zip(
        phrases,
        others,
        companions,
        stock.openings.take(len(scene), rng),
        scene.forms(36, 20, 9, 20, 9, 4, 2),
        strict=True,
    )
    return [
        (
            phrase,
            f"{phrase} {companion}",
            f"{opening} {phrase}",
            f"{phrase} {other}",
            f"{phrase} and {other}",
            f"{opening} {phrase} {companion}",
            companion,
        )[form]
        for phrase, other, companion, opening, form in parts
    ]


def _site(scene: Scene) -> list[str]:
    """Word queries that only name a web site, as people do who never type into the address bar."""
    stock, rng, habits = scene.stock, scene.rng, scene.shape.habits
    strange = stock.sites.take(len(scene), rng)
    favourites = scene.owners * FAVOURITE_SITES + rng.integers(FAVOURITE_SITES, size=len(scene))
    known = (scene.people.favourites[at] for at in favourites.tolist())
    returns = rng.random(len(scene)) < habits.favourite
    sites = [mine if back else other for mine, other, back in zip(known, strange, returns, strict=True)]
    errands = stock.site_errands.take(len(scene), rng)
    return [
        (site, f"{site}.com", f"www.{site}.com", f"www {site} com", f"{site} {errand}")[form]
        for site, errand, form in zip(sites, errands, scene.forms(65, 13, 11, 3, 8), strict=True)
    ]


def _product(scene: Scene) -> list[str]:
    """Word queries for a product: a brand, perhaps what it is, perhaps its model number."""
    stock, rng = scene.stock, scene.rng
    parts = zip(
        stock.brands.take(len(scene), rng),
        stock.phrases.draw(scene.topics, rng),
        model_numbers(len(scene), rng),
        stock.manuals.take(len(scene), rng),
        scene.forms(6, 18, 44, 12, 14, 6),
        strict=True,
    )
    return [
        (
            brand,
            f"{brand} {phrase}",
            f"{brand} {model}",
            f"{brand} {model} {phrase}",
            f"{brand} {model} {manual}",
            f"{brand} {manual}",
        )[form]
        for brand, phrase, model, manual, form in parts
    ]


def _local(scene: Scene) -> list[str]:
    """Word queries for something near home."""
    stock, rng = scene.stock, scene.rng
    errands, phrases = stock.errands.take(len(scene), rng), stock.phrases.draw(scene.topics, rng)
    return [
        (f"{errand} {town}", f"{errand} {town} {state}", f"{town} {state}", f"{town} {phrase}", f"{errand} in {town}")[
            form
        ]
        for (town, state), errand, phrase, form in zip(
            scene.home(), errands, phrases, scene.forms(26, 12, 22, 32, 8), strict=True
        )
    ]


def _travel(scene: Scene) -> list[str]:
    """Word queries about a place elsewhere."""
    stock, rng = scene.stock, scene.rng
    parts = zip(
        stock.destinations.take(len(scene), rng),
        stock.errands.take(len(scene), rng),
        stock.phrases.draw(scene.topics, rng),
        scene.forms(40, 20, 6, 6, 4, 24),
        strict=True,
    )
    return [
        (place, f"{place} {errand}", f"{place} vacation", f"flights to {place}", f"{place} map", f"{place} {phrase}")[
            form
        ]
        for place, errand, phrase, form in parts
    ]


def _famous(scene: Scene) -> list[str]:
    """Word queries about people whom many look for."""
    names = scene.stock.famous.take(len(scene), scene.rng)
    return [
        (name, f"{name} pictures", f"{name} biography", f"{name} movies", name.rpartition(" ")[2])[form]
        for name, form in zip(names, scene.forms(50, 12, 7, 6, 25), strict=True)
    ]


def _acquaintance(scene: Scene) -> list[str]:
    """Word queries about people few look for: one's own name, and names one knows."""
    stock, rng = scene.stock, scene.rng
    strangers = full_names(stock.first_names, stock.last_names, len(scene), rng)
    is_vain = scene.people.is_vain[scene.owners] & (rng.random(len(scene)) < 0.5)
    names = [
        scene.people.names[owner] if vain else stranger
        for owner, vain, stranger in zip(scene.owners.tolist(), is_vain.tolist(), strangers, strict=True)
    ]
    return [
        (
            name,
            f"{name} {state}",
            f"{name.rpartition(' ')[2]} family",
            f"{name} {town}",
            f"{name} obituary",
            name.rpartition(" ")[2],
        )[form]
        for name, (town, state), form in zip(names, scene.home(), scene.forms(56, 12, 5, 15, 5, 7), strict=True)
    ]


def _handle(scene: Scene) -> list[str]:
    """Word queries that are screen names, which people look up to see what others write under them."""
    return handles(scene.stock.first_names.take(len(scene), scene.rng), scene.rng)


def _identifier(scene: Scene) -> list[str]:
    """Word queries that hold an identifier, pasted or typed in by mistake."""
    names = [scene.people.names[owner] for owner in scene.owners.tolist()]
    return identifiers.make(names, scene.rng)


@dataclass(frozen=True)
class Kind:
    """A kind of query: how it is worded, and what is added to make it clearer."""

    word: Callable[[Scene], list[str]]
    extend: Callable[[Scene], list[str]]


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "topic": Kind(_topic, lambda scene: scene.stock.companions.draw(scene.topics, scene.rng)),
        "site": Kind(_site, lambda scene: scene.stock.site_errands.take(len(scene), scene.rng)),
        "product": Kind(_product, lambda scene: scene.stock.manuals.take(len(scene), scene.rng)),
        "local": Kind(_local, lambda scene: scene.stock.errands.take(len(scene), scene.rng)),
        "travel": Kind(_travel, lambda scene: scene.stock.errands.take(len(scene), scene.rng)),
        "famous": Kind(_famous, lambda scene: ["pictures"] * len(scene)),
        "acquaintance": Kind(_acquaintance, lambda scene: [state for _, state in scene.home()]),
        "handle": Kind(_handle, lambda scene: scene.stock.site_errands.take(len(scene), scene.rng)),
        "identifier": Kind(_identifier, lambda scene: [town for town, _ in scene.home()]),
    }
)


def compose(scene: Scene) -> tuple[list[str], list[str]]:
    """Word a fresh query for every place of the scene, and what it would be refined by, by kinds drawn by weight."""
    drawn = np.array(scene.forms(*scene.shape.habits.kinds.values()))
    texts, extensions = [""] * len(scene), [""] * len(scene)
    for number, name in enumerate(scene.shape.habits.kinds):
        where = np.flatnonzero(drawn == number)
        part = Scene(scene.owners[where], scene.topics[where], scene.people, scene.stock, scene.shape, scene.rng)
        worded, extended = KINDS[name].word(part), KINDS[name].extend(part)
        for at, text, extension in zip(where.tolist(), worded, extended, strict=True):
            texts[at], extensions[at] = text, extension
    return texts, extensions


def _plural(phrase: str) -> str:
    """Put a phrase into the plural, as far as English is regular."""
    if phrase.endswith(("s", "ing", "ness", "ity")):
        return phrase
    if phrase.endswith(("x", "ch", "sh")):
        return f"{phrase}es"
    if phrase.endswith("y") and phrase[-2:-1] not in "aeiou":
        return f"{phrase[:-1]}ies"
    return f"{phrase}s"
