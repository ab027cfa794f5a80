"""Scores of translations against references: BLEU and chrF by sacreBLEU, and exact match.

Texts are detokenized and cased as they are. BLEU and chrF are numbers from 0 to 100, with the
signatures that make them comparable (Post 2018); exact match is a fraction.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from keras_transformer.distribution import install_command


@dataclass(frozen=True)
class Scores:
    """Corpus scores from 0 to 100, and sacreBLEU's signature of how each was computed."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str

    def as_dict(self) -> dict[str, float | str]:
        """The fields as a dictionary, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"BLEU {self.bleu:.2f} ({self.bleu_signature})\n"
            f"chrF {self.chrf:.2f} ({self.chrf_signature})"
        )


def corpus_scores(hypotheses: Sequence[str], references: Sequence[str]) -> Scores:
    """BLEU (Papineni et al. 2002) and chrF (Popović 2015) of a corpus, one reference a sentence.

    Args:
        hypotheses: the translations, detokenized and cased.
        references: as many references, in the same order.

    Raises:
        ImportError: sacreBLEU is not installed.
        TypeError: an argument is a single string.
        ValueError: the counts differ, or there is no sentence.

    Example:
        >>> corpus_scores(["The cat sat on the mat."], ["The cat sat on the mat."]).bleu
        100.0
    """
    _check(hypotheses, references)
    try:
        from sacrebleu.metrics import BLEU, CHRF
    except ImportError as error:
        raise ImportError(
            f"corpus_scores needs sacrebleu: install it with `{install_command('cli')}`."
        ) from error
    bleu, chrf = BLEU(), CHRF()
    bleu_score = bleu.corpus_score(list(hypotheses), [list(references)]).score
    chrf_score = chrf.corpus_score(list(hypotheses), [list(references)]).score
    return Scores(
        # sacreBLEU's geometric mean leaves 100.00000000000004 for a perfect corpus.
        bleu=min(100.0, float(bleu_score)),
        chrf=float(chrf_score),
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
    )


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Fraction (0 to 1) of translations that equal their reference, outer white space aside.

    Raises:
        TypeError: an argument is a single string.
        ValueError: the counts differ, or there is no sentence.
    """
    _check(hypotheses, references)
    pairs = zip(hypotheses, references, strict=True)
    return sum(one.strip() == other.strip() for one, other in pairs) / len(hypotheses)


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    for name, texts in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(texts, str):
            raise TypeError(f"{name} must be a sequence of strings, got one string")
    if len(hypotheses) != len(references):
        raise ValueError(
            "hypotheses and references must be equally many, got "
            f"{len(hypotheses)} and {len(references)}"
        )
    if not hypotheses:
        raise ValueError("hypotheses must hold at least one sentence, got none")
