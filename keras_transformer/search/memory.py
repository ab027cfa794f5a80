"""The memory bound of searches, checked before any work: the keys, values and logits of a
sentence's hypotheses against the memory that is available.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformer.control_groups import group_directories, lines
from keras_transformer.search.options import SearchOptions

# Most bytes of the hypotheses of one sentence, or of a batch, however much memory there is.
MOST_BYTES = 8 << 30
# Hypotheses are counted with so many tokens at most: most end far below a large `max_length`.
_COUNTED_TOKENS = 256
# What is surely there need not be asked for.
_FEW_BYTES = 256 << 20
_FLOAT = 4
_ROOT = Path("/")


class HypothesisSize(NamedTuple):
    """The memory that a search needs for one hypothesis.

    Attributes:
        token_bytes: Keys and values of one of its tokens in all blocks.
        step_bytes: The logits of its next token.
    """

    token_bytes: int
    step_bytes: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "HypothesisSize":
        """Reads it from the configuration of a model with a decoder, as plain values."""
        layers = config.get("num_decoder_layers", config.get("num_layers", 1))
        heads = config["num_heads"]
        # Earlier versions wrote no widths of their own for keys and values.
        width = config.get("model_dim", 0) // heads
        widths = (config.get(name) or width for name in ("key_dim", "value_dim"))
        vocab_size = config.get("target_vocab_size", config.get("vocab_size", 1))
        kept = (config.get("num_key_value_heads") or heads) * sum(widths)
        return cls(int(layers * kept * _FLOAT), int(vocab_size * _FLOAT))

    def check(self, options: SearchOptions) -> None:
        """Checks how many hypotheses a search keeps of each sentence.

        Raises:
            ValueError: They would hold more than `limit_bytes`; the message says how many may be.
        """
        own, rows = self._bytes_of_one(options), options.rows_per_sentence
        if not self.holds(options):
            limit = limit_bytes()
            name = "num_hypotheses" if options.sample else "beam_size"
            raise ValueError(
                f"{name}={rows} would need {_size(own * rows)} for each sentence, more than the "
                f"limit of {_size(limit)}: give {name} of at most {max(1, limit // own)}, or a "
                "smaller max_length."
            )

    def holds(self, options: SearchOptions) -> bool:
        """Returns whether the hypotheses that a search keeps of a sentence may be held."""
        needed = self._bytes_of_one(options) * options.rows_per_sentence
        return needed <= _FEW_BYTES or needed <= limit_bytes()

    def _bytes_of_one(self, options: SearchOptions) -> int:
        return self.token_bytes * min(options.max_length, _COUNTED_TOKENS) + self.step_bytes

    def check_batch(self, batch_tokens: int) -> None:
        """Checks the size of batches, in tokens of the sources counted for each hypothesis.

        Raises:
            ValueError: It is below 1, or such a batch would hold more than `limit_bytes`.
        """
        if batch_tokens < 1:
            raise ValueError(f"batch_tokens must be at least 1, got {batch_tokens}.")
        # A sentence has several tokens, and one row of logits for each hypothesis.
        own = self.token_bytes + self.step_bytes // 8
        if own * batch_tokens <= _FEW_BYTES:
            return
        limit = limit_bytes()
        if own * batch_tokens > limit:
            raise ValueError(
                f"batch_tokens={batch_tokens} would need {_size(own * batch_tokens)}, more than "
                f"the limit of {_size(limit)}: give at most {max(1, limit // own)}."
            )


def limit_bytes(root: Path = _ROOT) -> int:
    """Returns the most bytes that a search may hold: half of what is available to the process, on
    the machine and in its control groups, at most `MOST_BYTES`.

    Args:
        root: Where `proc` and the control groups' file systems are.
    """
    known = [_available_bytes(root), *_group_limits(root)]
    return min([MOST_BYTES, *(one // 2 for one in known if one)])


def _available_bytes(root: Path) -> int:
    """Returns what the machine has left; 0 if it does not say so."""
    found = (line.split() for line in lines(root / "proc/meminfo"))
    return next((_number(words[1]) for words in found if words[:1] == ["MemAvailable:"]), 0) * 1024


def _group_limits(root: Path) -> list[int]:
    """Returns the memory limits of the process's control groups; 0 for what is no limit."""
    files = ("memory.max", "memory.limit_in_bytes")
    groups = group_directories("memory", root)
    return [_number(" ".join(lines(group / name))) for group in groups for name in files]


def _number(text: str) -> int:
    """Returns a positive number; 0 for another text, as "max" is."""
    try:
        return max(0, int(text))
    except ValueError:
        return 0


def _size(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
