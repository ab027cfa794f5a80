"""The flags of pictures: where one goes, and what of a run, a text or a corpus it shows."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from keras_transformer.data.encoding.id_pairs import check_max_length
from keras_transformer.text.tokenizer import check_vocab_size
from keras_transformer.vectors.neighbours import Distance


@dataclass(frozen=True, kw_only=True)
class PictureOptions:
    """Where the picture goes.

    Args:
        output: File to write, .png or .svg.
    """

    output: Path


@dataclass(frozen=True, kw_only=True)
class PositionOptions:
    """Which position vectors are drawn.

    Args:
        length: Number of positions.
        model_dim: Width of a vector.
    """

    length: int = 100
    model_dim: int = 128

    def __post_init__(self) -> None:
        from keras_transformer.plotting.sizes import check_positions

        check_positions(self.length, self.model_dim)


@dataclass(frozen=True, kw_only=True)
class MaskOptions:
    """The row of a batch whose masks are drawn.

    Args:
        tokens: Real tokens.
        padding: Places of padding after them.
    """

    tokens: int = 6
    padding: int = 2

    def __post_init__(self) -> None:
        from keras_transformer.plotting.sizes import check_masks

        check_masks(self.tokens, self.padding)


@dataclass(frozen=True, kw_only=True)
class PairOptions:
    """The sentence pair that the model reads.

    Args:
        source: Sentence in the source language.
        target: Its translation; the model's own, by greedy search, if not given.
    """

    source: str | None = None
    target: str | None = None


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """What an encoder or a decoder alone reads.

    Args:
        text: The text, in place of a sentence pair.
        tokens: Two tokens of it, that of the query and that of the key, by piece or place from 1:
            draws the features of query and key and their products.
        layer: The layer of these features, from 1 (default: the last).
    """

    text: str | None = None
    tokens: list[str] = field(default_factory=list)
    layer: int | None = None

    def __post_init__(self) -> None:
        if len(self.tokens) not in (0, 2):
            raise ValueError(f"tokens must be two, got {len(self.tokens)}.")
        if self.layer is not None and not self.tokens:
            raise ValueError("layer is that of --tokens: give both, or neither.")


@dataclass(frozen=True, kw_only=True)
class TaggedOptions:
    """The text whose tags are drawn.

    Args:
        text: The text; white space separates words.
    """

    text: str


@dataclass(frozen=True, kw_only=True)
class HeadOptions:
    """Which attention is drawn.

    Args:
        part: Self-attention of the "encoder" or the "decoder", or the decoder's attention to the
            source ("cross").
    """

    part: Literal["encoder", "decoder", "cross"] = "cross"


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """How the sentences are cut into tokens and batches.

    Args:
        run: Training run, or export, whose vocabulary to use; if not given, one is trained on the
            corpus.
        vocab_size: Size of that vocabulary in tokens, joint for both languages (default: 8000, for
            the demo 2000).
        max_length: Longest sentence in tokens; longer pairs are left out.
        batch_tokens: Most padded tokens of one side in a batch.
    """

    run: Path | None = None
    vocab_size: int | None = None
    max_length: int = 256
    batch_tokens: int = 1024

    def __post_init__(self) -> None:
        if self.vocab_size is not None:
            check_vocab_size(self.vocab_size)
        check_max_length(self.max_length)


@dataclass(frozen=True, kw_only=True)
class WordOptions:
    """Which word vectors are drawn.

    Args:
        words: The words (default: the first 60 of the file, which most trainers order by
            frequency).
        distance: "poincare" for vectors that `vectors --method poincare` trained.
    """

    words: list[str] = field(default_factory=list)
    distance: Distance = "cosine"
