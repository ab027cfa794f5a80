"""The SHA-256 of a corpus's texts, by which a resumed run knows its data."""

import hashlib
from collections.abc import Sequence

from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.tagged import TaggedTexts
from keras_transformer.data.sources.texts import LabelledTexts, Texts

# The digest's key in `training.json`.
TEXT_SHA256 = "text_sha256"
# Few enough to be small beside the corpus, many enough that the loop costs nothing.
_LINES_AT_ONCE = 10_000


def text_sha256(*splits: Pairs | Texts | LabelledTexts | TaggedTexts | None) -> str:
    """Returns the SHA-256 of all texts, labels and tags, in hexadecimal digits.

    Args:
        *splits: The texts to train on, to validate on and so on, in order; None for none.

    Example:
        >>> text_sha256(Texts(["a dog"], "a.txt")) == text_sha256(Texts(["a dog"], "b.txt"))
        True
    """
    digest = hashlib.sha256()
    for split in splits:
        for column in () if split is None else _columns(split):
            for start in range(0, len(column), _LINES_AT_ONCE):
                lines = "".join(f"{line}\n" for line in column[start : start + _LINES_AT_ONCE])
                # Text in Python may hold half a surrogate pair, which UTF-8 has no bytes for.
                digest.update(lines.encode("utf-8", "surrogatepass"))
            digest.update(b"\0")
        digest.update(b"\0")
    return digest.hexdigest()


def _columns(texts: Pairs | Texts | LabelledTexts | TaggedTexts) -> list[Sequence[str]]:
    if isinstance(texts, Texts):
        return [texts.lines]
    if isinstance(texts, Pairs):
        return [texts.source, texts.target]
    # Earlier versions left blank lines out.
    if isinstance(texts, TaggedTexts):
        return [[" ".join(row) for row in side if row] for side in (texts.words, texts.tags)]
    filled = texts.without_blank_lines()
    return [filled.labels, filled.first, filled.second or ()]
