"""The config of an encoder alone, as BERT is (Devlin et al. 2018) or XLNet (Yang et al. 2019), with
the head that reads it.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from keras_transformer.config.checks import check_size, make_numbers_plain, read_sequence
from keras_transformer.config.embedding import FeatureConfig
from keras_transformer.config.family import ENCODER, FamilyName
from keras_transformer.config.positions.disentangled import DisentangledConfig
from keras_transformer.config.single_stack import SingleStackConfig
from keras_transformer.config.stack import AttentionConfig, NormPlacement, StackConfig
from keras_transformer.config.text_vectors import DenseConfig, check_prompts, poolings_of

EncoderHead = Literal[
    "masked_lm", "pretraining", "classification", "regression", "tagging", "spans", "embedding"
]
PoolerActivation = Literal["tanh", "relu", "gelu"]
TextState = Literal["first", "mean"]
ValueActivation = Literal["linear", "sigmoid"]
MaskedActivation = Literal["gelu", "gelu_tanh", "relu", "silu", "tanh"]
# Heads that choose among the config's `labels`.
_CHOOSING = ("classification", "tagging")
# What follows the first text of a pair, in the order of the logits (Devlin et al. 2018).
NEXT_SENTENCE_LABELS = ("next", "random")
_TINY = {"model_dim": 128, "feed_forward_dim": 512, "num_heads": 2, "num_layers": 2}


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderConfig(SingleStackConfig):
    """Sizes and choices of an encoder-only model; the defaults are those of BERT base.

    Args:
        num_token_types: Number of token types, BERT's segments; 0 for none.
        relative_segments: Whether token types are no part of embeddings, and scores of attention
            read whether query and key have the same (XLNet).
        disentangled_buckets: Buckets of distances in either direction, an even number, for each of
            which the heads of every block have two vectors, one that queries are compared with and
            one that keys are (He et al. 2021, DeBERTa); distances from `relative_max_distance` on
            share one. None for none.
        first_norm: Whether the first sub-layer of pre-norm blocks reads normalised states; without,
            those of the embeddings as they are (Warner et al. 2024, ModernBERT).
        embedding_dim: Width of the embeddings, which a linear layer with a bias then takes to
            `model_dim` (Lan et al. 2019, ALBERT), and of what the head for masked tokens multiplies
            by their matrix; None for `model_dim` without such a layer.
        features: The states of other models for each word, which are mixed and added to the
            embeddings of its tokens (Peters et al. 2018, ELMo); none if empty.
        pooler: Whether what reads a whole text reads f(Wx + b) of its first token's state x, or
            its last's if `special_ids` have a cls; without it, x itself.
        pooler_activation: f: "tanh", or in classifiers "relu" (DistilBERT) or "gelu" (ELECTRA).
        text_state: x: the state of that token ("first"), or the "mean" of all.
        keep_pooler: Whether a pooler stays with a head that does not read it, untrained, for the
            models that start from these weights.
        head: What the model returns: None for states; "masked_lm" logits over the vocabulary;
            "pretraining" these, and two of whether the second text of a pair follows the first;
            "classification" logits over `labels` for a text, "tagging" for each token;
            "regression" a number for a text; "spans" logits of a span's first and last token;
            "embedding" one vector for a text.
        head_transform: Whether heads of classes, tags, numbers and spans read states through a
            linear layer, the `activation` and a norm, as that of masked tokens does (ModernBERT).
        masked_activation: The activation of the head for masked tokens: "gelu", "gelu_tanh",
            "relu", "silu" or "tanh"; None for `activation`.
        query_stream: Whether the head "masked_lm" reads a second stream of the encoder, which at
            each place knows where it is and not which token stands there (XLNet), in place of the
            states of masks; positions must be relative. Its logits are products with the
            embeddings, and a bias.
        labels: The classes or tags, in the order of their logits; only with those two heads.
        crf: Whether "tagging" finds the tags of all words together, by how well they follow each
            other, with a conditional random field (Lample et al. 2016); its transitions are weights
            of the head. If the tags follow the scheme BIO or BIOES, so does what is found.
        multi_label: Whether "classification" gives a text any number of the labels, each with the
            probability sigmoid(logit), in place of exactly one of them.
        value_activation: What gives the number of "regression" its range: "linear" none, "sigmoid"
            0 to 1, as that of a reranker may have.
        pair_separators: How many eos stand between the texts of a pair: 1 as in BERT, where the
            second text has the token type 1, or 2 as in RoBERTa, where all types are 0.
        pooling: How "embedding" makes one vector of a text's states: the "first" or the "last" of
            them, their "mean" or their "max" in each feature, their sum divided by the square root
            of their number ("mean_sqrt_length"), or their mean weighted by the position counted
            from 1 ("weighted_mean"); several joined by "+", as "first+mean", make vectors that are
            put one behind the other.
        dense: Linear layers that the vector goes through.
        unit_vectors: Whether that vector is divided by its length, so that products are cosines.
        max_row_length: Most tokens of a text that the model is meant to read, special ones
            included; None for as many as it has positions.
        prompts: Texts that can be put before a text whose vector is wanted, by name.
        default_prompt: The name of the prompt that is put there if none is asked for.
        **fields: As for `SingleStackConfig`.

    Raises:
        ValueError: A value is out of range or two of them do not match; the message names them.
        TypeError: A size is not an integer or a rate is not a number.

    Example:
        >>> EncoderConfig.preset("bert-base", vocab_size=30_522).parameter_count
        109482240
    """

    family: ClassVar[FamilyName] = ENCODER.name
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "bert-tiny": _TINY,
        "bert-base": {},
        "bert-large": {
            "model_dim": 1024,
            "feed_forward_dim": 4096,
            "num_heads": 16,
            "num_layers": 24,
        },
        "xlnet-tiny": {
            **_TINY,
            "positions": "none",
            "max_positions": None,
            "relative_sinusoids": True,
            "relative_segments": True,
            "attention_bias": False,
            "embedding_norm": False,
        },
    }

    model_dim: int = 768
    feed_forward_dim: int = 3072
    num_heads: int = 12
    attention_dropout: float = 0.1
    activation: str = "gelu"
    norm: NormPlacement = "post"
    layer_norm_epsilon: float = 1e-12
    num_token_types: int = 2
    relative_segments: bool = False
    disentangled_buckets: int | None = None
    first_norm: bool = True
    embedding_norm: bool = True
    embedding_dim: int | None = None
    features: tuple[FeatureConfig, ...] = ()
    pooler: bool = True
    pooler_activation: PoolerActivation = "tanh"
    text_state: TextState = "first"
    keep_pooler: bool = False
    head: EncoderHead | None = None
    head_transform: bool = False
    masked_activation: MaskedActivation | None = None
    query_stream: bool = False
    labels: tuple[str, ...] = ()
    crf: bool = False
    multi_label: bool = False
    value_activation: ValueActivation = "linear"
    pair_separators: int = 1
    pooling: str = "mean"
    dense: tuple[DenseConfig, ...] = ()
    unit_vectors: bool = False
    max_row_length: int | None = None
    prompts: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    default_prompt: str | None = None

    def __post_init__(self) -> None:
        if self.embedding_dim is not None:
            make_numbers_plain(self)
            check_size("embedding_dim", self.embedding_dim)
        super().__post_init__()
        check_size("num_token_types", self.num_token_types, least=0)
        _ = self.stack.own_blocks  # Which must fit `first_norm`.
        if self.relative_segments and self.num_token_types < 2:
            raise ValueError(
                "relative_segments are of two token types or more, got "
                f"num_token_types={self.num_token_types}."
            )
        if self.special_ids.cls is not None and self.num_token_types == 2:
            raise ValueError(
                "a cls has the third token type: special_ids with one need num_token_types=3, got "
                "2."
            )
        if self.embedding_dim is not None and self.head == "pretraining":
            raise ValueError(
                f"embedding_dim={self.embedding_dim} gives head='pretraining' two widths, one of "
                "tokens and one of next sentences: train head='masked_lm'."
            )
        for name, kind in (("features", FeatureConfig), ("dense", DenseConfig)):
            object.__setattr__(self, name, read_sequence(name, getattr(self, name), kind))
        poolings_of(self.pooling)
        self._check_head()
        self._check_query_stream()
        check_size("pair_separators", self.pair_separators)
        if self.pair_separators > 2:
            raise ValueError(f"pair_separators must be 1 or 2, got {self.pair_separators}.")
        self._check_row_length()
        check_prompts(self.prompts, self.default_prompt)
        object.__setattr__(self, "prompts", dict(self.prompts))
        self._check_labels()

    def _check_head(self) -> None:
        """Raises `ValueError` for an option that only other heads have."""
        is_ranged = self.value_activation != "linear"
        for option, is_given, heads in (
            ("features need", self.features, _CHOOSING),
            ("dense needs", self.dense, ["embedding"]),
            ("crf needs", self.crf, ["tagging"]),
            ("query_stream needs", self.query_stream, ["masked_lm"]),
            (f"value_activation={self.value_activation!r} needs", is_ranged, ["regression"]),
        ):
            if is_given and self.head not in heads:
                named = " or ".join(map(repr, heads))
                raise ValueError(f"{option} head={named}, got head={self.head!r}.")

    def _check_query_stream(self) -> None:
        if not self.query_stream:
            return
        if self.special_ids.mask is None:
            raise ValueError(
                "query_stream needs special_ids with a mask, with which it is asked for tokens."
            )
        reads = (block.own for block in self.stack.blocks)
        if self.positions != "none" or not all(
            isinstance(one, AttentionConfig)
            and one.relative_sinusoids
            and one.relative_bias is None
            and one.disentangled is None
            and one.window is None
            for one in reads
        ):
            raise ValueError(
                "a query_stream knows its places by relative sinusoids alone: give the fields of "
                f"the preset xlnet-tiny, got positions={self.positions!r}, relative_sinusoids of "
                f"{self.relative_sinusoids}, relative_buckets={self.relative_buckets}, "
                f"disentangled_buckets={self.disentangled_buckets} and window={self.window}."
            )
        if self.embedding_dim is not None:
            raise ValueError(
                "a query_stream's logits are products with embeddings as wide as the model: "
                f"embedding_dim must be None, got {self.embedding_dim}."
            )

    def check_exported(self) -> None:
        """Raises `ValueError` for a query stream, which no graph holds."""
        if self.query_stream:
            raise ValueError(
                "an export holds no query_stream, which is for training and for masks in Keras: "
                "train classify, tag or embed from the model (--init) and export that, or export "
                "the encoder alone (head=None, query_stream=False)."
            )

    def _check_row_length(self) -> None:
        if self.max_row_length is None:
            return
        # The special ids around a text, and one of text.
        check_size("max_row_length", self.max_row_length, least=3)
        if self.max_positions is not None and self.max_row_length > self.max_positions:
            raise ValueError(
                f"max_row_length ({self.max_row_length}) is more than max_positions "
                f"({self.max_positions}): lower it, or leave it out."
            )

    def _check_labels(self) -> None:
        if isinstance(self.labels, str) or not isinstance(self.labels, Iterable):
            raise TypeError(f"labels must be a sequence of strings, got {self.labels!r}.")
        object.__setattr__(self, "labels", tuple(self.labels))
        if any(not isinstance(label, str) for label in self.labels):
            raise TypeError(f"labels must be strings, got {self.labels!r}.")
        if len(set(self.labels)) < len(self.labels):
            raise ValueError(f"labels must differ from each other, got {self.labels!r}.")
        if self.multi_label:
            if self.head != "classification" or not self.labels:
                raise ValueError(
                    "multi_label needs head='classification' and one label or more, got "
                    f"head={self.head!r} and {len(self.labels)} labels."
                )
            return
        if (self.head in _CHOOSING) != (len(self.labels) >= 2):
            raise ValueError(
                f"labels, two or more, are needed with head={' or '.join(map(repr, _CHOOSING))} "
                f"and only there, got head={self.head!r} and {len(self.labels)} labels."
            )

    def to_dict(self) -> dict[str, Any]:
        """Returns the family and the fields as plain JSON values."""
        dense = [dataclasses.asdict(layer) for layer in self.dense]
        features = [dataclasses.asdict(one) for one in self.features]
        lists = {"labels": list(self.labels), "dense": dense, "features": features}
        return {**super().to_dict(), **lists}

    @property
    def embedded_dim(self) -> int:
        """Width of embeddings."""
        return self.model_dim if self.embedding_dim is None else self.embedding_dim

    @property
    def embedded_token_types(self) -> int:
        """Number of token types that embeddings read; 0 if attention reads them or none does."""
        return 0 if self.relative_segments else self.num_token_types

    @property
    def stack(self) -> StackConfig:
        """The stack of blocks, whose attention reads segments if these are relative."""
        changes: dict[str, Any] = {"relative_segments": self.relative_segments}
        if self.disentangled_buckets is not None:
            changes["disentangled"] = DisentangledConfig(
                buckets=self.disentangled_buckets, max_distance=self.relative_max_distance
            )
        stack = super().stack
        blocks = [
            dataclasses.replace(block, own=dataclasses.replace(block.own, **changes))
            for block in stack.blocks
        ]
        return dataclasses.replace(stack, blocks=tuple(blocks), first_norm=self.first_norm)

    def embedding_parameters(self) -> int:
        """Returns the number of trainable scalars beside the matrix of tokens."""
        projection = 0 if self.embedding_dim is None else (self.embedding_dim + 1) * self.model_dim
        mixes = sum(one.num_layers + 1 for one in self.features)
        mixed = (self.features_dim + 1) * self.model_dim if self.features else 0
        return super().embedding_parameters() + projection + mixes + mixed

    @property
    def features_dim(self) -> int:
        """Width of all features together."""
        return sum(one.width for one in self.features)

    def embedding_arguments(self) -> dict[str, Any]:
        """Returns the arguments of the `Embeddings` layer but for its vocabulary."""
        projected = None if self.embedding_dim is None else self.model_dim
        return {**super().embedding_arguments(), "projected_dim": projected}

    @property
    def pooled_dim(self) -> int:
        """Width of what the poolings make of a text's states."""
        return len(poolings_of(self.pooling)) * self.model_dim

    @property
    def vector_dim(self) -> int:
        """Width of a text's vector with the head "embedding"."""
        return self.dense[-1].out_dim if self.dense else self.pooled_dim

    @property
    def reads_pooler(self) -> bool:
        """Whether the head reads a pooler: those that do not read a whole text need none."""
        return self.pooler and self.head in (None, "pretraining", "classification", "regression")

    @property
    def has_pooler(self) -> bool:
        """Whether the model has a pooler, be it one that its head does not read."""
        return self.pooler and (self.keep_pooler or self.reads_pooler)

    @property
    def read_place(self) -> Literal["first", "last", "mean"]:
        """Which token heads of whole texts read: the first, or a cls behind all others; or all."""
        if self.text_state == "mean":
            return "mean"
        return "first" if self.special_ids.cls is None else "last"

    @property
    def longest_row(self) -> int | None:
        """Most tokens of a row of text, special ones included; None if there is no limit."""
        return self.max_positions if self.max_row_length is None else self.max_row_length

    @property
    def single_heads(self) -> dict[str, "EncoderConfig"]:
        """The model as one with a single head, by the name of the graph that computes it.

        They are two with the head "pretraining": "head" fills in masks, and "next_sentence"
        chooses among `NEXT_SENTENCE_LABELS`.
        """
        if self.head != "pretraining":
            return {"head": self}
        labels = NEXT_SENTENCE_LABELS
        return {
            "head": dataclasses.replace(self, head="masked_lm"),
            "next_sentence": dataclasses.replace(self, head="classification", labels=labels),
        }

    @property
    def parameter_count(self) -> int:
        """Number of trainable scalars, counted from the papers' equations."""
        width, narrow = self.model_dim, self.embedded_dim
        norm = 2 * narrow if self.norm_kind == "layer_norm" else narrow
        tokens = (self.vocab_size + self.embedded_token_types) * narrow
        embeddings = tokens + self.embedding_parameters()
        dense = width * width + width
        transform = (width + 1) * narrow + norm
        masked = (width if self.query_stream else transform) + self.vocab_size
        widths = [self.pooled_dim, *(layer.out_dim for layer in self.dense)]
        behind_pooling = sum(
            (width + layer.use_bias) * layer.out_dim
            for width, layer in zip(widths, self.dense, strict=False)
        )
        heads = {
            None: 0,
            "masked_lm": masked,
            "pretraining": masked + 2 * (width + 1),
            "regression": width + 1,
            "spans": 2 * (width + 1),
            "embedding": behind_pooling,
        }
        head = heads.get(self.head, len(self.labels) * (width + 1))
        if self.head_transform and self.head in ("regression", "spans", *_CHOOSING):
            head += dense + (2 * width if self.norm_kind == "layer_norm" else width)
        head += dense if self.reads_pooler else 0
        head += len(self.labels) * (len(self.labels) + 2) if self.crf else 0
        return embeddings + self.stack.parameter_count(self.model_dim) + head
