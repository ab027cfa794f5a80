"""Options of training word vectors, and what each method takes where none is given."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from keras_transformer.config.checks import check_choice, check_size

Method: TypeAlias = Literal["skip-gram", "cbow", "fasttext", "glove", "poincare"]

# Words that all passes together read at least, within the fewest and the most passes.
_LEAST_WORDS_READ = 10_000_000
_FEWEST_PASSES, _MOST_PASSES = 5, 40
# Of co-occurrences, which are fewer than words, and of relations.
_PASSES_OF_COUNTS = 50
# A text of fewer words has few that occur five times.
_LARGE_TEXT = 1_000_000


@dataclass(frozen=True, kw_only=True)
class VectorOptions:
    """How word vectors are trained.

    Args:
        method: "skip-gram" and "cbow" (Mikolov et al. 2013), "fasttext" (skip-gram with subwords,
            Bojanowski et al. 2017), "glove" (Pennington et al. 2014), or "poincare" (Nickel and
            Kiela 2017), whose lines are relations: a word, a tab, and the word above it.
        dim: Numbers of a vector.
        window: Words on each side that a word is learnt from (default: 5; no poincare).
        min_count: How often a word must occur to have a vector (default: 5, or 2 in texts of fewer
            than a million words; no poincare).
        epochs: Passes over the text (default: so many that 10 million words are read, 5 to 40; of
            glove and poincare 50).
        lowercase: Write all words in lower case (no poincare).
        seed: Of the first vectors and of what is drawn.
    """

    method: Method = "skip-gram"
    dim: int = 128
    window: int | None = None
    min_count: int | None = None
    epochs: int | None = None
    lowercase: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("method", self.method, get_args(Method))
        for name in ("dim", "window", "min_count", "epochs"):
            if getattr(self, name) is not None:
                check_size(name, getattr(self, name))
        check_size("seed", self.seed, least=0)
        if self.seed >= 2**32:
            raise ValueError(f"seed must be at most 4,294,967,295, got {self.seed}.")
        if self.method == "poincare":
            for name in ("window", "min_count", "lowercase"):
                if getattr(self, name):
                    raise ValueError(
                        f"{name} is for texts, and poincare learns from relations: leave it out."
                    )

    def passes(self, words: int) -> int:
        """Returns the passes over a text of so many words."""
        if self.epochs is not None:
            return self.epochs
        if self.method in ("glove", "poincare"):
            return _PASSES_OF_COUNTS
        return min(_MOST_PASSES, max(_FEWEST_PASSES, -(-_LEAST_WORDS_READ // words)))

    def least_count(self, words: int) -> int:
        """Returns how often a word of such a text must occur."""
        if self.min_count is not None:
            return self.min_count
        return 5 if words >= _LARGE_TEXT else 2

    @property
    def words_around(self) -> int:
        """Words on each side of one."""
        return 5 if self.window is None else self.window
