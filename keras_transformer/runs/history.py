"""The history of a run: the metrics of each round, which round was the best, and how many have
passed since.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

Figures = dict[str, list[float | None]]

STEP = "step"


class Criterion(NamedTuple):
    """By which figure rounds are compared.

    Attributes:
        figure: Its name in the history.
        noun: What it is.
        gain: What a better one is.
    """

    figure: str
    noun: str
    gain: Literal["lower", "higher"]


LOSS = "loss"
CRITERIA = {
    LOSS: Criterion("val_loss", "validation loss", "lower"),
    "bleu": Criterion("val_bleu", "BLEU of the validation translations", "higher"),
    "chrf": Criterion("val_chrf", "chrF of the validation translations", "higher"),
}


class History:
    """Metrics of the rounds so far; `step` holds the number of updates made by the end of each.

    Args:
        figures: Lists of one value per round, by name, as `figures` of another history; the lists
            are copied.
        criterion: By which figure rounds are compared.

    Example:
        >>> history = History()
        >>> history.append(100, {"val_loss": 3.0})
        >>> history.append(200, {"val_loss": 2.5, "val_bleu": 20.0})
        >>> history.figures["val_bleu"], history.best_step
        ([None, 20.0], 200)
    """

    def __init__(
        self,
        figures: Mapping[str, list[float | None]] | None = None,
        criterion: Criterion = CRITERIA[LOSS],
    ) -> None:
        self.criterion = criterion
        self.figures: Figures = {STEP: []}
        self.figures.update({name: list(values) for name, values in (figures or {}).items()})

    def append(self, step: int, figures: Mapping[str, float]) -> None:
        """Adds a round; a name that is missing in this or in earlier rounds gets None there."""
        rounds = len(self.figures[STEP])
        row = {**figures, STEP: step}
        for name in [*self.figures, *(name for name in row if name not in self.figures)]:
            self.figures.setdefault(name, [None] * rounds).append(row.get(name))

    def until(self, step: int) -> "History":
        """Returns the history of the rounds that ended at or before `step`."""
        rounds = sum(end is not None and end <= step for end in self.figures[STEP])
        figures = {name: values[:rounds] for name, values in self.figures.items()}
        return History(figures, self.criterion)

    def scores(self) -> dict[int, float]:
        """Returns the criterion's figure by step, for the rounds that have one."""
        pairs = zip(self.figures[STEP], self.figures.get(self.criterion.figure, []), strict=False)
        return {int(step): value for step, value in pairs if None not in (step, value)}  # type: ignore[arg-type, misc]

    def best_first(self, steps: Iterable[int]) -> list[int]:
        """Returns those of some steps whose rounds have a score, the best first."""
        scores, sign = self.scores(), 1 if self.criterion.gain == "lower" else -1
        return sorted(scores.keys() & {*steps}, key=lambda step: (sign * scores[step], step))

    @property
    def rounds(self) -> int:
        """Number of rounds so far."""
        return len(self.figures[STEP])

    @property
    def best_step(self) -> int | None:
        """The step at the end of the round with the best score; the first if tied."""
        return next(iter(self.best_first(self.scores())), None)

    def best_record(self) -> dict[str, float] | None:
        """Returns step and score of the best round; None if none has a score."""
        best = self.best_step
        return None if best is None else {STEP: best, self.criterion.figure: self.scores()[best]}

    @property
    def rounds_since_best(self) -> int:
        """Number of rounds after the best one."""
        return sum(step > (self.best_step or step) for step in self.scores())
