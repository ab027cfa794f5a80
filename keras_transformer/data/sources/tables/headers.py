"""The names that a table's first line may give its columns, by which it is told from a text."""

from collections.abc import Sequence

_LABELS = frozenset(
    "label labels class class_name category target sentiment intent topic tag language lang "
    "label_name label_text y".split()
)
_FIRST = frozenset(
    "text texts sentence sentences document content review comment title headline message "
    "utterance query question description body tweet input phrase first first_text text1 text_1 "
    "text_a sentence1 sentence_1 sentence_a question1 question_1 premise anchor source src "
    "source_text original".split()
)
_SECOND = frozenset(
    "second second_text text2 text_2 text_b sentence2 sentence_2 sentence_b question2 question_2 "
    "hypothesis positive paraphrase target tgt trg target_text translation output".split()
)
_LANGUAGES = frozenset(
    "en de fr es it pt nl ru zh ja ko ar tr pl cs sv da fi no nb el hi he uk ro hu english german "
    "french spanish italian portuguese dutch russian chinese japanese korean arabic turkish polish "
    "czech swedish danish finnish norwegian greek hindi hebrew ukrainian romanian "
    "hungarian".split()
)


def label_columns(row: Sequence[str]) -> tuple[int, ...] | None:
    """Returns which columns hold the label, the text and the second text, if a row names them.

    Args:
        row: The columns of the first line.

    Raises:
        ValueError: It names a label and more than two texts.

    Example:
        >>> label_columns(["id", "text", "label"]), label_columns(["label", "a dog"])
        ((2, 1), None)
    """
    names = list(map(_name, row))
    labels = [place for place, name in enumerate(names) if name in _LABELS]
    texts = [place for place, name in enumerate(names) if name in (_FIRST | _SECOND) - _LABELS]
    if len(labels) != 1 or not texts or len({*names}) < len(names):
        return None
    if len(texts) > 2:
        raise ValueError(
            f"the columns {', '.join(row[place] for place in texts)} are all texts, and a label "
            "has one text or two: leave the others out"
        )
    return labels[0], *texts


def may_name_columns(row: Sequence[str]) -> bool:
    """Returns whether a row has a column's name, though not all that are needed."""
    return len(row) > 1 and any(_name(column) in _LABELS | _FIRST for column in row)


def names_pairs(first: str, second: str) -> bool:
    """Returns whether the two texts of a row name their columns.

    Example:
        >>> names_pairs("source", "target"), names_pairs("en", "de"), names_pairs("no", "nein")
        (True, True, False)
    """
    names = _name(first), _name(second)
    for one, other in (names, names[::-1]):
        if one in _FIRST and other in _SECOND:
            return True
    # Such as en_GB.
    languages = {name.partition("_")[0] for name in names}
    return len(languages) == 2 and languages <= _LANGUAGES


def _name(column: str) -> str:
    return column.strip().casefold().replace(" ", "_").replace("-", "_")
