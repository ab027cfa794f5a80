"""Slots: characters that stand for spans of a text, such as tags and placeholders, which a model
reads, writes exactly once each and never sees inside.

They are private-use characters of Unicode's last plane but one, each a piece of its own in the
vocabularies of models that are trained with them.
"""

from collections.abc import Callable
from typing import Protocol

# More than the spans of nearly all sentences. `letterless` names their range, too.
SLOTS = tuple(map(chr, range(0xFFF80, 0xFFF98)))


class Lifted(Protocol):
    """A text whose spans were lifted out."""

    @property
    def text(self) -> str:
        """The text with slots in place of spans."""

    def put_back(self, translation: str) -> str:
        """Returns a translation of `text`, or a piece of one, with the spans in place of slots."""

    def is_kept(self, translation: str) -> bool:
        """Returns whether a translation of `text` has every span once and tags that nest, so that
        `put_back` has nothing to mend.
        """


Lift = Callable[[str], Lifted]
