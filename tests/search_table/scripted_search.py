"""What a search case is, and the scripts that several of them share: probabilities of the next
token come in, a table of log-probabilities leaves.
"""

import dataclasses
import math
from typing import Any

import numpy as np

PAD, UNK, BOS, EOS = 0, 1, 2, 3
A, B, C = 4, 5, 6
VOCABULARY = 7
MAX_LENGTH = 5

# Probability of each next token given (sentence, tokens so far, last token); what is left of 1 is
# shared by the tokens that are not named. A row that is missing altogether ends surely.
Script = dict[tuple[int, int, int], dict[int, float]]


@dataclasses.dataclass(frozen=True)
class SearchCase:
    """A scripted search.

    Attributes:
        name: What holds.
        log_probs: float32 `(sentences, max_length, vocabulary, vocabulary)`, nats: sentence, tokens
            so far, last token, next token.
        logits: What a model would return, of the same shape: `log_probs`, or that and a constant.
        expected: For every sentence, the ids of its hypotheses without bos and eos; None where the
            naive search says.
        options: Fields of `SearchOptions`; `max_length` always.
        prefixes: For every sentence, the ids it begins with; None where there are none.
        source_lengths: Source tokens of every sentence, the end token included.
    """

    name: str
    log_probs: np.ndarray
    logits: np.ndarray
    expected: list[list[list[int]]] | None
    options: dict[str, Any]
    prefixes: list[list[int]] | None
    source_lengths: list[int]

    def sentence(self, place: int) -> dict[str, Any]:
        """What `naive_search` takes beside log-probabilities and options for one sentence."""
        return {
            "logits": self.logits[place],
            "prefix": self.prefixes[place] if self.prefixes else [],
            "source_length": self.source_lengths[place],
            "sentence": place,
        }


def case(
    name: str,
    script: Script,
    expected: list[list[list[int]]] | None,
    *,
    prefixes: list[list[int]] | None = None,
    source_lengths: list[int] | None = None,
    shift: float = 0.0,
    **options: Any,
) -> SearchCase:
    options.setdefault("max_length", MAX_LENGTH)
    sentences = 1 + max(sentence for sentence, _, _ in script)
    length = options["max_length"]
    table = np.full((sentences, length, VOCABULARY, VOCABULARY), 1e-6)
    table[..., EOS] = 1 - 1e-6 * (VOCABULARY - 1)
    for place, given in script.items():
        if place[1] >= length:
            continue
        table[place] = (1 - math.fsum(given.values())) / max(VOCABULARY - len(given), 1)
        for token, probability in given.items():
            table[place][token] = probability
    # No case depends on probability 0, which implementations write differently.
    table = np.maximum(table, 1e-9)
    log_probs = np.log(table / table.sum(-1, keepdims=True)).astype(np.float32)
    logits = log_probs + np.float32(shift)
    lengths = source_lengths or [1] * sentences
    return SearchCase(name, log_probs, logits, expected, options, prefixes, lengths)


def always(given: dict[int, float], sentences: int = 1) -> Script:
    """The same probabilities at every step, whatever came before."""
    return {
        (sentence, step, last): given
        for sentence in range(sentences)
        for step in range(MAX_LENGTH)
        for last in range(VOCABULARY)
    }


# Greedy takes A (0.5) and is left with 0.4; B (0.4) then ends with 0.9.
GARDEN_PATH: Script = {
    (0, 0, BOS): {A: 0.5, B: 0.4},
    (0, 1, A): {EOS: 0.4, A: 0.3, C: 0.25},
    (0, 1, B): {EOS: 0.9},
}
# A ends with 0.49, A B C with 0.36: which is better depends on the length penalty.
SHORT_OR_LONG: Script = {
    (0, 0, BOS): {A: 0.98},
    (0, 1, A): {EOS: 0.5, B: 0.49},
    (0, 2, B): {C: 0.8, EOS: 0.1},
    (0, 3, C): {EOS: 0.95},
}
ALWAYS_C = always({C: 0.9})
# The empty one ends with 0.4, A with 0.225, A C with 0.2, A C A B with 0.037.
LATER_AND_BETTER: Script = {
    (0, 0, BOS): {A: 0.5, EOS: 0.4},
    (0, 1, A): {C: 0.5, EOS: 0.45},
    (0, 2, C): {EOS: 0.8, A: 0.15},
    (0, 3, A): {B: 0.99},
}
# Greedy says A B A B A.
BACK_AND_FORTH: Script = {
    (0, step, last): {other: 0.6, C: 0.3}
    for step in range(MAX_LENGTH)
    for last, other in ((BOS, A), (A, B), (B, A))
}
UNEQUAL: Script = {
    (0, 0, BOS): {A: 0.4, B: 0.3, C: 0.2},
    (0, 1, A): {EOS: 0.3, B: 0.3, C: 0.2},
    (0, 1, B): {A: 0.5, EOS: 0.2},
    (0, 1, C): {B: 0.4, A: 0.3, EOS: 0.2},
    (0, 2, A): {C: 0.5, B: 0.2},
    (0, 2, B): {A: 0.5, EOS: 0.3},
    (0, 3, C): {A: 0.4, B: 0.3, EOS: 0.2},
    (1, 0, BOS): {C: 0.5, A: 0.3, EOS: 0.1},
    (1, 1, C): {C: 0.4, A: 0.3, EOS: 0.2},
    (1, 2, C): {C: 0.6, EOS: 0.2},
    (1, 3, C): {C: 0.6, EOS: 0.2},
}
