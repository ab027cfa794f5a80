"""Takes the pieces of the translations of a text's parts, one part after the other, and yields the
pieces of the whole text's translation, with the spaces and line breaks between the parts.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from keras_transformer.text.sentences import Passage, gap_before


async def stream_passage(
    passage: Passage, parts: Iterable[AsyncGenerator[str, None]]
) -> AsyncGenerator[str, None]:
    """Yields a text's translation in pieces; joined, they are what `Passage.join` returns.

    Args:
        passage: The text.
        parts: The pieces of each part's translation, none of them empty. Each is started when the
            one before it has ended, and is closed at its end.
    """
    said = ""
    for gap, part in zip(passage.gaps[:-1], parts, strict=True):
        lead: str | None = gap
        async with aclosing(part):
            async for piece in part:
                said = piece if lead is None else gap_before(piece, lead, said) + piece
                lead = None
                yield said
        if lead:
            said = lead
            yield said
    if passage.gaps[-1]:
        yield passage.gaps[-1]
