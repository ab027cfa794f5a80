"""The BLEU and the speed of a teacher and its student on a test set."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keras_transformer.evaluation import corpus_scores
from keras_transformer.translation.translator import TextTranslator

_ROUNDS = 2
_WARM_UP = 20


@dataclass(frozen=True)
class Judgement:
    """The quality and speed of a model's translation of a test set.

    Attributes:
        model: Its name.
        beam_size: Beams of the search; 1 is greedy search.
        bleu: sacreBLEU's, 0 to 100.
        sentences_per_second: The faster of two rounds, in which the models took turns.
    """

    model: str
    beam_size: int
    bleu: float
    sentences_per_second: float


def compare(
    translators: Mapping[str, TextTranslator],
    sources: Sequence[str],
    references: Sequence[str],
    search: dict[str, Any],
) -> list[Judgement]:
    """Translates a test set with each model, greedily and with the given search.

    Args:
        translators: Models by their names; how many threads they have is theirs.
        sources: The lines to translate.
        references: Their translations.
        search: Fields of `SearchOptions`, `beam_size` among them.
    """
    beams = sorted({1, search["beam_size"]})
    runs = [(name, beam_size) for name in translators for beam_size in beams]
    seconds = dict.fromkeys(runs, float("inf"))
    texts: dict[tuple[str, int], list[str]] = {}
    for _ in range(_ROUNDS):
        for name, beam_size in runs:
            options = {**search, "beam_size": beam_size}
            translators[name].translate(sources[:_WARM_UP], **options)
            began = time.perf_counter()
            texts[name, beam_size] = translators[name].translate(sources, **options)
            taken = time.perf_counter() - began
            seconds[name, beam_size] = min(seconds[name, beam_size], taken)
    return [
        Judgement(
            model=name,
            beam_size=beam_size,
            bleu=corpus_scores(texts[name, beam_size], references).bleu,
            sentences_per_second=len(sources) / seconds[name, beam_size],
        )
        for name, beam_size in runs
    ]


def table(judgements: Sequence[Judgement]) -> str:
    """Returns the judgements as text, a line each."""
    lines = [f"{'model':<10}{'beam':>5}{'BLEU':>8}{'sentences/s':>14}"]
    for one in judgements:
        rate = f"{one.sentences_per_second:,.0f}"
        lines.append(f"{one.model:<10}{one.beam_size:>5}{one.bleu:>8.2f}{rate:>14}")
    return "\n".join(lines)
