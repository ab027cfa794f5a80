"""Points of quality and speed: which of them nothing beats, and what a student loses and gains."""

import dataclasses
from collections.abc import Sequence

OURS = "ours"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Point:
    """One way to translate a test set.

    Attributes:
        model: Name of the run.
        engine: "ours" or a peer's name.
        precision: "float32" or "int8", with or without a shortlist, as in "int8+list50".
        beam_size: Of the search; 1 is greedy.
        batch: Sentences at a time.
        bleu: sacreBLEU's, 0 to 100.
        rate: Sentences a second, the median of the turns.
        lowest: Of the slowest turn.
        highest: Of the fastest turn.
    """

    model: str
    engine: str
    precision: str
    beam_size: int
    batch: int
    bleu: float
    rate: float
    lowest: float
    highest: float


def front(points: Sequence[Point]) -> list[Point]:
    """Returns the points that no other beats, for each batch by itself, slowest first.

    A point beats another if it is at least as good and at least as fast, and one of them is more.
    """

    def beats(one: Point, other: Point) -> bool:
        is_as_good = one.bleu >= other.bleu and one.rate >= other.rate
        is_more = one.bleu > other.bleu or one.rate > other.rate
        return one.batch == other.batch and is_as_good and is_more

    found = [one for one in points if not any(beats(other, one) for other in points)]
    return sorted(found, key=lambda point: (point.batch, point.rate))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gain:
    """What a student loses in BLEU and gains in speed.

    Attributes:
        student: One of its points.
        teacher: The teacher's point that is compared: of the same engine and batch.
    """

    student: Point
    teacher: Point

    @property
    def lost(self) -> float:
        """BLEU below the teacher; negative above it."""
        return self.teacher.bleu - self.student.bleu

    @property
    def speed(self) -> float:
        """Times the teacher's sentences a second."""
        return self.student.rate / self.teacher.rate


def gains(points: Sequence[Point], teacher: str, precision: str, beam_size: int) -> list[Gain]:
    """Compares our points of all students with the teacher's of one precision and search.

    Args:
        points: All points.
        teacher: Name of the teacher's run.
        precision: Of the teacher that they are to replace.
        beam_size: Of its search.

    Raises:
        ValueError: The teacher was not measured so.
    """
    own = [point for point in points if point.engine == OURS]
    asked = (teacher, precision, beam_size)
    teachers = {
        point.batch: point
        for point in own
        if (point.model, point.precision, point.beam_size) == asked
    }
    if not teachers:
        known = ", ".join(sorted({point.model for point in own}))
        raise ValueError(
            f"the teacher {teacher!r} was not measured in {precision} with beam size {beam_size}, "
            f"only {known}."
        )
    return [
        Gain(student=point, teacher=teachers[point.batch])
        for point in own
        if point.model != teacher
    ]
