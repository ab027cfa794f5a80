"""The history of a run: the metrics of each round, which round was the best, and how many have
passed since.
"""

from collections.abc import Mapping

Figures = dict[str, list[float | None]]

STEP = "step"
CRITERION = "val_loss"


class History:
    """Metrics of the rounds so far; `step` holds the number of updates made by the end of each.

    Args:
        figures: Lists of one value per round, by name, as `figures` of another history; the lists
            are copied.

    Example:
        >>> history = History()
        >>> history.append(100, {"val_loss": 3.0})
        >>> history.append(200, {"val_loss": 2.5, "val_bleu": 20.0})
        >>> history.figures["val_bleu"], history.best_step
        ([None, 20.0], 200)
    """

    def __init__(self, figures: Mapping[str, list[float | None]] | None = None) -> None:
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
        return History({name: values[:rounds] for name, values in self.figures.items()})

    def losses(self) -> dict[int, float]:
        """Returns the validation loss by step, for the rounds that have one."""
        pairs = zip(self.figures[STEP], self.figures.get(CRITERION, []), strict=False)
        return {int(step): loss for step, loss in pairs if step is not None and loss is not None}

    @property
    def rounds(self) -> int:
        """Number of rounds so far."""
        return len(self.figures[STEP])

    @property
    def best_step(self) -> int | None:
        """The step at the end of the round with the lowest validation loss; the first if tied."""
        losses = self.losses()
        return min(losses, key=lambda step: losses[step]) if losses else None

    @property
    def rounds_since_best(self) -> int:
        """Number of rounds after the best one."""
        return sum(step > (self.best_step or step) for step in self.losses())
