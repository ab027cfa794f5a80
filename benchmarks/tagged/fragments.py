"""Texts with tags around words and phrases, and whether these are where they belong in a
translation.
"""

import dataclasses
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser

from keras_transformer.markup.soft_terms.word_links import Link, words_of

TAGS = (("<b>", "</b>"), ('<a href="page.html">', "</a>"), ("<i>", "</i>"))
TAG = re.compile(r"</?[abi]\b[^<>]*>")
_LONGEST_PHRASE, _MOST = 3, 3


@dataclasses.dataclass(frozen=True)
class Fragment:
    """A text with tags.

    Attributes:
        html: The text.
        phrases: What each element holds in the reference, by its opening tag.
    """

    html: str
    phrases: dict[str, str]

    @property
    def text(self) -> str:
        """The text without its tags."""
        return without_tags(self.html)


def fragments(
    sources: Sequence[str], targets: Sequence[str], links: Iterable[set[Link]], seed: int
) -> Iterator[Fragment]:
    """Yields the pairs of which phrases are known on both sides, up to three of them in tags."""
    drawn = random.Random(seed)
    for source, target, own in zip(sources, targets, links, strict=True):
        known = list(_phrases(source, target, own))
        drawn.shuffle(known)
        taken: list[tuple[int, int, str]] = []
        for start, end, phrase in known:
            if all(end <= one[0] or start >= one[1] for one in taken):
                taken.append((start, end, phrase))
        if taken:
            yield _tagged(source, taken[: drawn.randint(1, _MOST)])


def without_tags(html: str) -> str:
    """Returns a text without its tags."""
    return TAG.sub("", html)


def is_whole(fragment: Fragment, found: str) -> bool:
    """Returns whether a translation has each tag of a fragment once, and no other."""
    return Counter(TAG.findall(found)) == Counter(TAG.findall(fragment.html))


def is_nested(html: str) -> bool:
    """Returns whether a parser finds no element that is closed by another's tag, or by none."""
    reader = _Elements()
    reader.feed(html)
    reader.close()
    return reader.is_nested and not reader.waiting


def places(fragment: Fragment, found: str) -> Iterator[tuple[str, bool]]:
    """Yields each phrase that a translation holds, in tags or not, and whether its tags hold it."""
    text = without_tags(found)
    for (opening, phrase), (_, closing) in (
        (one, tag) for one in fragment.phrases.items() for tag in TAGS if tag[0] == one[0]
    ):
        if len(re.findall(rf"(?<!\w){re.escape(phrase)}(?!\w)", text)) == 1:
            inner = re.search(f"{re.escape(opening)}(.*?){re.escape(closing)}", found)
            yield phrase, inner is not None and without_tags(inner[1]).strip() == phrase


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[str] = []
        self.is_nested = True

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.waiting.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.is_nested &= self.waiting[-1:] == [tag]
        self.waiting = self.waiting[:-1]


def _phrases(source: str, target: str, links: set[Link]) -> Iterator[tuple[int, int, str]]:
    """Yields where each phrase begins and ends in a source, and the phrase in the target: all words
    of either are linked, and to no other.
    """
    ours, theirs, to = words_of(source), words_of(target), dict(links)
    for first in range(len(ours)):
        for end in range(first + 1, min(first + _LONGEST_PHRASE, len(ours)) + 1):
            found = sorted(to[place] for place in range(first, end) if place in to)
            is_phrase = all(ours[place][0].isalnum() for place in range(first, end))
            if is_phrase and len(found) == end - first == found[-1] - found[0] + 1:
                phrase = target[theirs[found[0]].start() : theirs[found[-1]].end()]
                yield ours[first].start(), ours[end - 1].end(), phrase


def _tagged(source: str, taken: list[tuple[int, int, str]]) -> Fragment:
    html, last, phrases = "", 0, {}
    for (start, end, phrase), (opening, closing) in zip(sorted(taken), TAGS, strict=False):
        html += f"{source[last:start]}{opening}{source[start:end]}{closing}"
        last = end
        phrases[opening] = phrase
    return Fragment(html + source[last:], phrases)
