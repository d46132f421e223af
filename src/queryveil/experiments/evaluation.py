"""What the evaluation of a paper returns, whatever the paper."""

from dataclasses import dataclass
from typing import Any

from queryveil.report.reproduction import PaperFigure, PaperTable


@dataclass(frozen=True)
class Evaluation:
    """The tables and figures, all their numbers, and what they mean in plain words."""

    tables: tuple[PaperTable, ...]
    figures: tuple[PaperFigure, ...]
    numbers: dict[str, Any]
    reading: tuple[str, ...] = ()
