"""The config of a decoder alone, as GPT-2 is (Radford et al. 2019), or with a memory of what it has
read, as Transformer-XL is (Dai et al. 2019).
"""

import dataclasses
from typing import Any, ClassVar, Literal

from keras_transformer.config.checks import check_size, check_soft_cap
from keras_transformer.config.embedding import Cluster, clusters_of
from keras_transformer.config.family import DECODER, FamilyName
from keras_transformer.config.single_stack import SingleStackConfig
from keras_transformer.config.stack import AttentionConfig, BlockConfig, NormPlacement, StackConfig

Direction = Literal["forward", "backward"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class DecoderConfig(SingleStackConfig):
    """Sizes and choices of a decoder-only model; the defaults are those of GPT-2's smallest.

    Args:
        tied_head: Whether logits come from the matrix of the embeddings.
        logit_bias: Whether each logit has a trained bias.
        final_logit_soft_cap: What bounds logits z, biases included, as final_logit_soft_cap ·
            tanh(z / final_logit_soft_cap) (Gemma 2); None for no bound.
        cutoffs: Ids, in rising order, each of which begins a cluster of rarer ids: a prediction
            chooses among the ids before the first and the clusters, then an id of the cluster
            (Grave et al. 2017), and embeddings are as wide (Baevski and Auli 2018). Empty for one
            matrix of all ids. Vocabularies begin with the most frequent tokens.
        div_value: How many times narrower vectors are in each cluster than in the one before.
        character_dim: Width of a byte's embedding in a model that builds vectors of tokens from
            their UTF-8 bytes by convolutions, a highway and a linear layer (Kim et al. 2016), with
            a head of its own; None for a matrix of tokens.
        character_filters: Convolutions of each width, by byte of the width.
        character_width: Widths are 1 to this.
        max_token_bytes: Bytes of a token that are read, two marks among them.
        direction: "forward" for a model that predicts each token of a text from those before it,
            "backward" for one that reads texts from the end (Peters et al. 2018).
        recurrence: What the blocks have in place of self-attention: "lstm", long short-term memory,
            as the language models of ELMo and Flair; None for self-attention. It knows positions by
            itself, and is exported as a SavedModel alone.
        starts_prompts: Whether a prompt is read behind `decoder_start`, as texts are in training
            here. If not, as by tokenizers of others that add no such token, it begins with its own
            first token, and only an empty one with `decoder_start`.
        memory_length: Tokens whose states each block remembers from the segments of a text before
            (Transformer-XL); None for no memory. A token then reads as many before it, wherever
            segments begin, unless `window` says otherwise. Positions must be relative.
        **fields: As for `SingleStackConfig`.

    Raises:
        ValueError: A value is out of range or two of them do not match; the message names them.
        TypeError: A size is not an integer or a rate is not a number.

    Example:
        >>> DecoderConfig.preset("gpt2", vocab_size=50_257).parameter_count
        124439808
    """

    family: ClassVar[FamilyName] = DECODER.name
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "gpt2-tiny": {
            "model_dim": 128,
            "feed_forward_dim": 512,
            "num_heads": 4,
            "num_layers": 4,
            "max_positions": 512,
        },
        "gpt2": {},
        "gpt2-medium": {
            "model_dim": 1024,
            "feed_forward_dim": 4096,
            "num_heads": 16,
            "num_layers": 24,
        },
        "llama-tiny": {
            "model_dim": 128,
            "feed_forward_dim": 344,
            "num_heads": 4,
            "num_key_value_heads": 2,
            "num_layers": 4,
            "positions": "none",
            "max_positions": None,
            "rotary_base": 10_000.0,
            "norm_kind": "rms_norm",
            "layer_norm_epsilon": 1e-6,
            "gated_feed_forward": True,
            "activation": "silu",
            "use_bias": False,
        },
        "lstm-tiny": {
            "model_dim": 256,
            "feed_forward_dim": 512,
            "num_heads": 4,
            "num_layers": 2,
            "positions": "none",
            "max_positions": None,
            "recurrence": "lstm",
        },
        "transformer-xl-tiny": {
            "model_dim": 128,
            "feed_forward_dim": 512,
            "num_heads": 4,
            "num_layers": 4,
            "positions": "none",
            "max_positions": None,
            "relative_sinusoids": True,
            "memory_length": 128,
            "activation": "relu",
            "scale_embeddings": True,
        },
    }

    model_dim: int = 768
    feed_forward_dim: int = 3072
    num_heads: int = 12
    attention_dropout: float = 0.1
    activation: str = "gelu_tanh"
    norm: NormPlacement = "pre"
    max_positions: int | None = 1024
    tied_head: bool = True
    logit_bias: bool = False
    final_logit_soft_cap: float | None = None
    cutoffs: tuple[int, ...] = dataclasses.field(default=(), metadata={"flag": False})
    div_value: int = 4
    character_dim: int | None = None
    character_filters: int = 25
    character_width: int = 6
    max_token_bytes: int = 24
    direction: Direction = "forward"
    recurrence: Literal["lstm"] | None = None
    starts_prompts: bool = dataclasses.field(default=True, metadata={"flag": False})
    memory_length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_soft_cap("final_logit_soft_cap", self.final_logit_soft_cap)
        self._check_cutoffs()
        self._check_characters()
        if self.recurrence is not None and self.memory_length is not None:
            raise ValueError(
                f"recurrence={self.recurrence!r} has a state of its own in place of "
                "memory_length: leave one of them out."
            )
        if self.memory_length is not None:
            check_size("memory_length", self.memory_length)
            if self.positions != "none":
                raise ValueError(
                    "memory_length needs positions that are relative, since those of a text's "
                    "segments all begin at 0: give positions='none' and relative_sinusoids=True, "
                    f"or rotary_base, got positions={self.positions!r}."
                )
            if self.reads_backward:
                raise ValueError(
                    "memory_length is of what stands before a text's segments, which "
                    "direction='backward' has not read: leave one of them out."
                )

    def _check_cutoffs(self) -> None:
        given: Any = self.cutoffs
        if not isinstance(given, list | tuple):
            raise TypeError(f"cutoffs must be a sequence of ids, got {given!r}.")
        object.__setattr__(self, "cutoffs", tuple(given))
        _ = self.clusters
        if not given:
            self._refuse_unread("cutoffs", "div_value")
        if given and self.final_logit_soft_cap is not None:
            raise ValueError(
                f"final_logit_soft_cap={self.final_logit_soft_cap} does not go with cutoffs, whose "
                "logits are of several softmaxes: leave one of them out."
            )

    def _check_characters(self) -> None:
        for name in ("character_filters", "character_width"):
            check_size(name, getattr(self, name))
        check_size("max_token_bytes", self.max_token_bytes, least=max(3, self.character_width))
        if self.character_dim is None:
            of_bytes = "character_filters", "character_width", "max_token_bytes"
            self._refuse_unread("character_dim", *of_bytes)
            return
        check_size("character_dim", self.character_dim)
        for name, value in (("tied_head", self.tied_head), ("cutoffs", self.cutoffs)):
            if value:
                raise ValueError(
                    f"character_dim makes vectors of tokens without a matrix, which {name}={value} "
                    f"needs: give {name}={type(value)()}."
                )

    def _refuse_unread(self, needed: str, *names: str) -> None:
        """Raises `ValueError` for a field that is read only with another."""
        for name in names:
            value = getattr(self, name)
            if value != getattr(DecoderConfig, name):
                raise ValueError(f"{name}={value} needs {needed}, which is not given.")

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """The parts of the vocabulary; one of all ids without `cutoffs`."""
        return clusters_of(self.vocab_size, self.model_dim, self.cutoffs, self.div_value)

    @property
    def reads_backward(self) -> bool:
        """Whether the model reads texts from the end."""
        return self.direction == "backward"

    @property
    def stack(self) -> StackConfig:
        """The stack of blocks; with a memory, they read as far as that reaches."""
        stack = self.stack_of(self.num_layers, recurrence=self.recurrence)
        reach = self.memory_length
        if reach is None:
            return stack
        blocks = [_with_window(block, reach + 1) for block in stack.blocks]
        return dataclasses.replace(stack, blocks=tuple(blocks))

    def check_memory(self) -> int:
        """Returns how many tokens the model remembers; raises `ValueError` if none."""
        if self.memory_length is None:
            raise ValueError(
                "a model without memory_length remembers nothing of what it read: read each text "
                "by itself, or train with --memory-length."
            )
        return self.memory_length

    @property
    def reach(self) -> int:
        """Of a model with a memory, how many tokens before one its logits depend on at most."""
        blocks = (block.own for block in self.stack.layers)
        return sum((one.window or 1) - 1 for one in blocks if isinstance(one, AttentionConfig))

    @property
    def cache_room(self) -> int | None:
        """Tokens before one that a cache must hold, where places may be counted anew; None for all.

        Rotary positions turn keys by the places that they had.
        """
        own = [block.own for block in self.stack.blocks]
        attention = [one for one in own if isinstance(one, AttentionConfig) and one.rotary is None]
        if self.memory_length is None or len(attention) < len(own):
            return None
        return max((one.window or 1) - 1 for one in attention)

    def to_dict(self) -> dict[str, Any]:
        """Returns the family and the fields as plain JSON values."""
        return {**super().to_dict(), "cutoffs": list(self.cutoffs)}

    def embedding_arguments(self) -> dict[str, Any]:
        """Returns the arguments of the `Embeddings` layer but for its vocabulary."""
        more: dict[str, Any] = {}
        if self.cutoffs:
            more = {"cutoffs": self.cutoffs, "div_value": self.div_value}
        elif self.character_dim is not None:
            more["characters"] = {
                "character_dim": self.character_dim,
                "filters": self.character_filters,
                "largest_width": self.character_width,
                "max_bytes": self.max_token_bytes,
            }
        return {**super().embedding_arguments(), **more}

    @property
    def parameter_count(self) -> int:
        """Number of trainable scalars, counted from the papers' equations."""
        return (
            self._token_parameters()
            + self.embedding_parameters()
            + self.stack.parameter_count(self.model_dim)
        )

    def _token_parameters(self) -> int:
        """Returns the number of trainable scalars of tokens and of the head."""
        biases = self.logit_bias * self.vocab_size
        if self.character_dim is not None:
            return self.vocab_size * self.model_dim + biases + self._character_parameters()
        if not self.cutoffs:
            return (2 - self.tied_head) * self.vocab_size * self.model_dim + biases
        tokens = sum(one.width * (one.size + self.model_dim) for one in self.clusters)
        first = self.clusters[0].width
        choices = len(self.cutoffs) * (first + self.logit_bias)
        own = first * self.model_dim if self.tied_head else tokens
        return tokens + own + choices + biases

    def _character_parameters(self) -> int:
        """Returns the number of trainable scalars that make vectors of bytes."""
        byte, widths = self.character_dim or 0, range(1, self.character_width + 1)
        features = self.character_filters * sum(widths)
        filters = self.character_filters * sum(width * (width * byte + 1) for width in widths)
        highway, last = 2 * features * (features + 1), (features + 1) * self.model_dim
        return 259 * byte + filters + highway + last


def _with_window(block: BlockConfig, window: int) -> BlockConfig:
    """Returns a block that has a window; its own if it has one."""
    own = block.own
    if not isinstance(own, AttentionConfig) or own.window is not None:
        return block
    return dataclasses.replace(block, own=dataclasses.replace(own, window=window))
