"""ICU's messages: the branches of plurals and selections are whole texts, translated one by one.

`I see {n, plural, one {# cat} other {# cats}}.` is read as `I see # cat.` and `I see # cats.`, and
written with all of its text inside the branches, as ICU's guide has it.
"""

import dataclasses
import re
from collections.abc import Iterator, Sequence

from keras_transformer.files.segments import Translation

_ARGUMENT = re.compile(
    r"\{\s*[\w.]+\s*,\s*(?P<kind>plural|selectordinal|select)\s*,\s*(?:offset:\s*\d+\s*)?"
)
_KEY = re.compile(r"\s*(=\d+|[\w-]+)\s*\{")
_END = re.compile(r"\s*\}")
# More branches of branches than anyone writes.
_MOST_TEXTS = 64
# In braces it is a span, as the name of an argument is.
_NUMBER, _NUMBER_SPAN = "#", "{#}"


@dataclasses.dataclass(frozen=True)
class Message:
    """A text, or a choice of texts.

    Attributes:
        text: The text; of a choice what stands before its branches.
        branches: The key and the message of each branch; none of a text.
        has_number: Whether "#" in the text is a number.
    """

    text: str
    branches: tuple[tuple[str, "Message"], ...] = ()
    has_number: bool = False

    @property
    def texts(self) -> list[str]:
        """What is translated."""
        if self.branches:
            return [text for _, branch in self.branches for text in branch.texts]
        return [self.text.replace(_NUMBER, _NUMBER_SPAN) if self.has_number else self.text]

    def joined(self, found: Sequence[Translation]) -> Translation:
        """Returns the message with a translation of each of its texts.

        A text whose braces do not fit stays untranslated.
        """
        if not self.branches:
            return found[0]
        left = iter(found)
        kept = [self._branch(one, next(left)) for one in self._leaves()]
        texts = iter(one.text for one in kept)
        return Translation(
            self._written(texts),
            any(one.is_doubtful for one in kept),
            all(one.is_known for one in kept),
        )

    def _branch(self, leaf: "Message", found: Translation) -> Translation:
        text = found.text.replace(_NUMBER_SPAN, _NUMBER) if leaf.has_number else found.text
        if not _is_balanced(text):
            return Translation(leaf.text, is_doubtful=True)
        return found._replace(text=text)

    def _leaves(self) -> Iterator["Message"]:
        for _, branch in self.branches:
            yield from branch._leaves() if branch.branches else [branch]

    def _written(self, texts: Iterator[str]) -> str:
        if not self.branches:
            return next(texts)
        branches = [f"{key} {{{branch._written(texts)}}}" for key, branch in self.branches]
        return f"{self.text}{' '.join(branches)}}}"


def read_message(text: str) -> Message:
    """Reads a text, which is one text if it has no choice, too many, or what looks like one is
    none.

    Example:
        >>> read_message("I see {n, plural, one {a cat} other {# cats}}.").texts
        ['I see a cat.', 'I see {#} cats.']
    """
    return _read(text, has_number=False, most=_MOST_TEXTS) or Message(text)


def _read(text: str, *, has_number: bool, most: int) -> Message | None:
    """Reads a text, where "#" is a number if that is said; None if it is more texts than `most`."""
    plain = Message(text, has_number=has_number)
    found = _ARGUMENT.search(text)
    if found is None:
        return plain
    branches, at = [], found.end()
    is_plural = has_number or found["kind"] != "select"
    while key := _KEY.match(text, at):
        end = _closing(text, key.end())
        if end < 0:
            return plain
        branches.append((key[1], text[key.end() : end]))
        at = end + 1
    behind = _END.match(text, at)
    if not branches or behind is None:
        return plain
    if len(branches) > most:
        return None
    before, after = text[: found.start()], text[behind.end() :]
    if not (_is_balanced(before) and _is_balanced(after)):
        return plain
    # A choice of one branch counts as two, so that reading many of them ends.
    rest = most // max(len(branches), 2)
    read = []
    for name, branch in branches:
        message = _read(before + branch + after, has_number=is_plural, most=rest)
        if message is None:
            return None
        read.append((name, message))
    return Message(found[0], tuple(read))


def _is_balanced(text: str) -> bool:
    return _closing(text + "}", 0) == len(text)


def _closing(text: str, start: int) -> int:
    """Returns the place of the brace that closes what was opened before `start`; -1 if none."""
    depth = 1
    for found in re.finditer(r"[{}]", text[start:]):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return start + found.start()
    return -1
