"""The settings of a preparation, as a value."""

import dataclasses
from dataclasses import dataclass
from typing import Any, get_args

from keras_transformer.config.checks import check_choice, check_flag, check_share, check_size
from keras_transformer.noise.pairs import check_shares
from keras_transformer.text.tokenizer import FEWEST_PIECES, ModelType


@dataclass(frozen=True, kw_only=True)
class PrepareOptions:
    """Settings of a preparation; equal ones on equal text give equal shards.

    Args:
        vocab_size: Number of pieces in the vocabulary (in each, if there are two), special ids
            included. If not given, as many as the corpus can teach, at most 8,000.
        tokenizer_type: Kind of SentencePiece model.
        joint_vocabulary: One vocabulary for both languages, or one for each.
        tokenizer_sentences: Most sentences to train a vocabulary on; if there are more, this many
            are drawn at random.
        num_sentinels: Number of pieces that stand for hidden spans, `<extra_id_0>` and so on, which
            a vocabulary of single texts gets for denoising "sentinels"; T5 has 100.
        max_length: Longest sentence in tokens; longer pairs are left out.
        shards: Number of training shards; if not given, a multiple of 8 with at most 250,000 pairs
            in each.
        seed: Decides which pair goes to which shard, and draws noise and soft terms.
        noise: Shares of training pairs that are written as people write (`docs/robustness.md`),
            such as `capitals=0.05`, as for `train`.
        soft_terms: Share of training pairs whose sources have translations beside some of their
            terms (`docs/terms.md`), as for `train`.

    Raises:
        ValueError: A value is out of range; the message names it.
        TypeError: A count is not an integer, or `joint_vocabulary` not True or False.
    """

    vocab_size: int | None = None
    tokenizer_type: ModelType = "unigram"
    joint_vocabulary: bool = True
    tokenizer_sentences: int = 1_000_000
    num_sentinels: int = 0
    max_length: int = 256
    shards: int | None = None
    seed: int = 0
    noise: tuple[str, ...] = ()
    soft_terms: float = 0.0

    def __post_init__(self) -> None:
        if self.vocab_size is not None:
            check_size("vocab_size", self.vocab_size, FEWEST_PIECES)
        check_size("tokenizer_sentences", self.tokenizer_sentences)
        check_size("num_sentinels", self.num_sentinels, 0)
        check_size("max_length", self.max_length, 2)
        check_size("seed", self.seed, 0)
        if self.shards is not None:
            check_size("shards", self.shards)
        check_choice("tokenizer_type", self.tokenizer_type, get_args(ModelType))
        check_flag("joint_vocabulary", self.joint_vocabulary)
        check_share("soft_terms", self.soft_terms)
        object.__setattr__(self, "noise", check_shares(self.noise))

    def to_dict(self) -> dict[str, Any]:
        """Returns plain JSON values, without sentinels, noise and soft terms those of a version
        that knew none.
        """
        values = dataclasses.asdict(self) | {"noise": list(self.noise)}
        for name in ("num_sentinels", "noise", "soft_terms"):
            if not values[name]:
                del values[name]
        return values
