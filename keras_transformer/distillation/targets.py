"""The text that a student is trained on: parallel text and a teacher's translations of its
sources.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

from keras_transformer.data.sources.corpus import Pairs

Targets = Literal["best", "all", "closest"]


def student_pairs(
    originals: Pairs,
    translations: Sequence[Sequence[str]],
    targets: Targets = "best",
    *,
    keep_originals: bool = False,
) -> Pairs:
    """Pairs the sources with their translations.

    Args:
        originals: The sources with their human translations.
        translations: The teacher's translations of each source, best first; a source without one
            is left out.
        targets: Which of them are targets: the "best", "all", or the "closest" to the human
            translation by BLEU (Kim and Rush 2016, section 3.3).
        keep_originals: Whether the originals follow the new pairs.

    Raises:
        ValueError: There is no translation at all, or as many as sources are not given.

    Example:
        >>> originals = Pairs(["a dog"], ["un perro"], origin="example")
        >>> student_pairs(originals, [["el perro", "un perro"]], "all").target
        ('el perro', 'un perro')
    """
    pairs = [
        (source, target)
        for source, reference, texts in zip(
            originals.source, originals.target, translations, strict=True
        )
        for target in _chosen(texts, reference, targets)
    ]
    if keep_originals:
        pairs += zip(originals.source, originals.target, strict=True)
    if not pairs:
        raise ValueError(f"the teacher translated no line of {originals.origin}.")
    sources, chosen = zip(*pairs, strict=True)
    return Pairs(sources, chosen, origin=f"a teacher's translations of {originals.origin}")


def _chosen(texts: Sequence[str], reference: str, targets: Targets) -> Sequence[str]:
    if targets == "all" or not texts:
        return texts
    if targets == "best" or len(texts) == 1:
        return texts[:1]
    return [max(texts, key=lambda text: _bleu().sentence_score(text, [reference]).score)]


@cache
def _bleu() -> Any:
    from sacrebleu.metrics import BLEU

    return BLEU(effective_order=True)
