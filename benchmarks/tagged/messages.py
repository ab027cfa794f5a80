"""Messages of programs, whose translations must hold the spans of their sources."""

import dataclasses
from collections.abc import Sequence

import sacrebleu

from keras_transformer.markup.profiles import MADE_UP
from keras_transformer.markup.spans import find_spans


@dataclasses.dataclass(frozen=True)
class Kept:
    """How one way of translating messages did.

    Attributes:
        with_spans: Messages that have spans.
        kept: Those of them whose translation has each span as often as they, and no other tag or
            placeholder.
        bleu: Of the messages with spans.
        bleu_plain: Of the others.
        seconds: Processor time of all.
    """

    with_spans: int
    kept: int
    bleu: float
    bleu_plain: float
    seconds: float


def judge_messages(
    sources: Sequence[str], references: Sequence[str], found: Sequence[str], seconds: float
) -> Kept:
    """Looks at the translations of messages."""
    spans = [[one.text for one in find_spans(source)] for source in sources]
    kept = sum(_is_kept(own, said) for own, said in zip(spans, found, strict=True) if own)

    def bleu(wanted: bool) -> float:
        chosen = [
            (said, reference)
            for own, said, reference in zip(spans, found, references, strict=True)
            if bool(own) is wanted
        ]
        said, expected = zip(*chosen, strict=True)
        return sacrebleu.corpus_bleu(said, [expected]).score

    return Kept(sum(map(bool, spans)), kept, bleu(True), bleu(False), seconds)


def _is_kept(spans: Sequence[str], said: str) -> bool:
    # The longest first, as line breaks may have become neighbours.
    for span in sorted(spans, key=len, reverse=True):
        if span not in said:
            return False
        said = said.replace(span, " ", 1)
    return not any(one.kind in MADE_UP for one in find_spans(said))
