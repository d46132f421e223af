"""A few dozen people who drink coffee, write programs or travel: the example of docs/how-to/search.md."""

import random
from pathlib import Path

INTERESTS = {
    "coffee": "coffee espresso cappuccino latte mocha bean roast brew cup caffeine milk beverage",
    "programs": "programming language software compiler code computer object class algorithm debugger syntax web",
    "travel": "island indonesia beach volcano hotel flight borneo sea temple region diving passport",
}
EVERYDAY = ("weather", "news", "music", "football", "recipe", "map")


def write_people(path: Path) -> None:
    """Write the profiles of twelve people of each kind: most words of their interest, and some of everyday life."""
    rng = random.Random(1)
    lines = ["user,term,weight"]
    for interest, words in INTERESTS.items():
        for number in range(12):
            own = rng.sample(words.split(), 9)
            lines += [f"{interest}-{number},{term},{rng.randint(2, 9)}" for term in own]
            lines += [f"{interest}-{number},{term},1" for term in rng.sample(EVERYDAY, 2)]
    path.write_text("\n".join(lines) + "\n")
