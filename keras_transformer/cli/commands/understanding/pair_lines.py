"""Lines of two texts with a tab between them, for models that read pairs."""

from collections.abc import Sequence

from keras_transformer.understanding.text_understanding import TextUnderstanding


class PairError(ValueError):
    """A line is not a pair of texts.

    Attributes:
        index: Its place among the lines.
    """

    def __init__(self, index: int, tabs: int, expected: str) -> None:
        self.index = index
        super().__init__(f"the text at index {index} has {tabs} tabs: {expected}.")


def pairs_in(lines: Sequence[str], expected: str) -> tuple[list[str], list[str]]:
    """Returns the first texts of lines, and the second ones.

    Raises:
        PairError: A line has another number of texts; its message ends with what was expected.
    """
    rows = [line.split("\t") for line in lines]
    for index, row in enumerate(rows):
        if len(row) != 2:
            raise PairError(index, len(row) - 1, expected)
    return [row[0] for row in rows], [row[1] for row in rows]


def row_lengths(encoder: TextUnderstanding, rows: Sequence[Sequence[str]]) -> list[int]:
    """Returns how many tokens the texts of each line have, separators between them included."""
    between = encoder.config.pair_separators
    return [sum(encoder.text_lengths(row)) + between * (len(row) - 1) for row in rows]
