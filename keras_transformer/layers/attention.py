"""Scaled dot-product attention and multi-head attention (paper, sections 3.2.1 and 3.2.2), for a
whole sequence, for one step with a cache, and for keys and values projected once.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.config.positions.rotary import RotaryConfig
from keras_transformer.config.stack import AttentionConfig
from keras_transformer.layers.distances.disentangled import DisentangledDistances
from keras_transformer.layers.distances.relative_segments import RelativeSegments
from keras_transformer.layers.distances.relative_sinusoids import RelativeSinusoids
from keras_transformer.layers.initializers import linear_initializer
from keras_transformer.layers.masks import has_keys, masked_softmax, near_mask
from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.variants.configured import Configured
from keras_transformer.layers.variants.fused_attention import can_fuse, fused_attention
from keras_transformer.layers.variants.rms_norm import make_norm
from keras_transformer.layers.variants.rotary import rotate
from keras_transformer.layers.variants.scores import additive_scores, soft_capped
from keras_transformer.tensors import Tensor

KeysValues = tuple[Tensor, Tensor]


@keras.saving.register_keras_serializable("keras_transformer")
class MultiHeadAttention(Configured):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O, head = softmax(QKᵀ/√d_k)V.

    Args:
        config: Its heads and options.

    Attributes:
        query_norm: The norm of each head's queries, before rotary positions; None without.
        key_norm: The same of keys, which caches hold normalised and turned.
        score_vectors: The vectors v of additive scores, `(heads, key_dim)`; None of products.

    Example:
        >>> layer = MultiHeadAttention(AttentionConfig(num_heads=2, key_dim=4))
        >>> layer(keras.ops.ones((1, 3, 8))).shape
        TensorShape([1, 3, 8])
    """

    config: AttentionConfig
    config_class = AttentionConfig

    def __init__(self, config: AttentionConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.distances: RelativeSinusoids | None = None
        if config.relative_sinusoids:
            sizes = config.num_heads, config.key_dim, config.farthest_distance
            self.distances = RelativeSinusoids(*sizes, dtype=self.dtype_policy, name="distances")
        self.disentangled: DisentangledDistances | None = None
        if config.disentangled is not None:
            one = config.disentangled
            self.disentangled = DisentangledDistances(
                config.num_heads,
                config.key_dim,
                one.buckets,
                one.max_distance,
                dtype=self.dtype_policy,
                name="disentangled",
            )
        self.segments: RelativeSegments | None = None
        if config.relative_segments:
            self.segments = RelativeSegments(
                config.num_heads, config.key_dim, dtype=self.dtype_policy, name="segments"
            )

    def build(self, query_shape: Any, key_shape: Any = None, value_shape: Any = None) -> None:
        """Creates the projections; the output is as wide as the query."""
        key_shape = key_shape or query_shape
        widths = {
            "query": (query_shape, self.config.num_heads * self.config.key_dim),
            "key": (key_shape, self.config.num_key_value_heads * self.config.key_dim),
            "value": (
                value_shape or key_shape,
                self.config.num_key_value_heads * self.config.value_dim,
            ),
            "output": (
                (None, None, self.config.num_heads * self.config.value_dim),
                query_shape[-1],
            ),
        }
        for name, (input_shape, width) in widths.items():
            linear = Dense(
                width,
                use_bias=self.config.use_bias and (name != "output" or self.config.output_bias),
                kernel_initializer=linear_initializer(),
                dtype=self.dtype_policy,
                name=name,
            )
            linear.build(input_shape)
            setattr(self, f"{name}_linear", linear)
        self.query_norm = self._norm("query_norm", self.config.num_heads)
        self.key_norm = self._norm("key_norm", self.config.num_key_value_heads)
        if self.distances is not None:
            self.distances.build(query_shape)
        if self.segments is not None:
            self.segments.build()
        if self.disentangled is not None:
            self.disentangled.build()
        self.score_vectors = None
        if self.config.additive:
            shape = self.config.num_heads, self.config.key_dim
            self.score_vectors = self.add_weight(shape, linear_initializer(), name="score_vectors")
        self.drop = keras.layers.Dropout(self.config.dropout, dtype=self.dtype_policy, name="drop")

    def _norm(self, name: str, num_heads: int) -> keras.layers.Layer | None:
        if self.config.query_key_norm is None:
            return None
        norm = make_norm(self.config.query_key_norm, self.dtype_policy, name)
        over = num_heads if self.config.query_key_norm_over == "all_heads" else 1
        norm.build((None, None, over * self.config.key_dim))
        return norm

    @property
    def linear_layers(self) -> tuple[Dense, ...]:
        """The four projections, and that of distances if there is one, once built."""
        others = () if self.distances is None else (self.distances.linear,)
        return self.query_linear, self.key_linear, self.value_linear, self.output_linear, *others

    def call(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        keep_mask: Tensor | None = None,
        return_weights: bool = False,
        training: bool | None = None,
        bias: Tensor | None = None,
        return_scores: bool = False,
        differs: Tensor | None = None,
        places: Tensor | None = None,
    ) -> Any:
        """Attends from every query to the keys that its mask allows.

        Args:
            query: `(batch, target_length, model_dim)`.
            key: `(batch, source_length, width)`; the query if None (self-attention).
            value: `(batch, source_length, width)`; the key if None.
            keep_mask: Boolean, broadcasts to `(batch, heads, target_length, source_length)`,
                True where a query may attend; None allows all.
            return_weights: Whether to return the attention weights too.
            training: Whether to drop attention weights.
            bias: Added to the scores; broadcasts to `(batch, heads, target_length,
                source_length)`.
            return_scores: Whether to return the scores too, of which softmax makes the weights.
            differs: Boolean `(batch, 1, target_length, source_length)`, True where a key is of
                another segment than the query; None for one segment. Read by relative segments
                only.
            places: int32 `(batch, target_length)`, the place of each query among the keys; None if
                they follow each other from 0 on. Read by relative sinusoids only.

        Returns:
            `(batch, target_length, model_dim)`, zeros if a query has no key at all; with
            `return_weights` also the weights `(batch, heads, target_length, source_length)` before
            dropout; with `return_scores` also the scores of that shape, as they are before the
            mask hides any.
        """
        keys_values = self.project(query if key is None else key, value)
        return self.attend(
            query,
            keys_values,
            keep_mask,
            return_weights,
            training,
            bias=bias,
            return_scores=return_scores,
            differs=differs,
            places=places,
        )

    def project_queries(self, query: Tensor, first_place: Tensor | int = 0) -> Tensor:
        """Projects queries into heads, as they are compared with `project`'s keys.

        Args:
            query: `(batch, target_length, model_dim)`.
            first_place: int32 scalar, the place of the first query; read by rotary positions only.

        Returns:
            `(batch, heads, target_length, key_dim)`, not yet divided by √d_k.
        """
        projected, heads = self.query_linear(query), self.config.num_heads
        return self._placed(projected, heads, self.query_norm, first_place)

    def project(
        self, key: Tensor, value: Tensor | None = None, first_place: Tensor | int = 0
    ) -> KeysValues:
        """Projects keys and values into heads, to be attended to once or many times.

        Args:
            key: `(batch, source_length, width)`.
            value: As `key`; the key if None.
            first_place: int32 scalar, the place of the first key; read by rotary positions only.

        Returns:
            Keys `(batch, key_value_heads, source_length, key_dim)` and values
            `(batch, key_value_heads, source_length, value_dim)`.
        """
        value = key if value is None else value
        heads = self.config.num_key_value_heads
        keys = self._placed(self.key_linear(key), heads, self.key_norm, first_place)
        return keys, self._split(self.value_linear(value), heads)

    def attend(
        self,
        query: Tensor,
        keys_values: KeysValues,
        keep_mask: Tensor | None = None,
        return_weights: bool = False,
        training: bool | None = None,
        first_place: Tensor | int = 0,
        bias: Tensor | None = None,
        return_scores: bool = False,
        differs: Tensor | None = None,
        places: Tensor | None = None,
    ) -> Any:
        """Attends from queries `(batch, target_length, model_dim)` to `project`'s result.

        `first_place` is the place of the first query, which rotary positions read, and distances
        and windows, to which the first key has place 0.
        """
        keys, values = keys_values
        queries = self.project_queries(query, first_place)
        if self.config.window is not None:
            near = near_mask(queries, keys, first_place, self.config.window)
            keep_mask = near if keep_mask is None else ops.logical_and(keep_mask, near)
        scale = self.config.key_dim**-0.5 if self.config.scale else 1
        further = None
        if self.segments is not None and differs is not None:
            further = self.segments(queries, differs) * scale
        if self.disentangled is not None:
            further = _with(further, self.disentangled(queries, keys) * scale)
        if self.distances is not None:
            queries, of_distances = self.distances(
                queries, num_keys=ops.shape(keys)[2], first_place=first_place, places=places
            )
            further = _with(further, of_distances * scale)
        needs_weights = return_weights or return_scores or (training and self.config.dropout)
        if not needs_weights and self._may_fuse and can_fuse(queries, keys, values):
            added = _with(bias, further)
            heads = fused_attention(queries, keys, values, keep_mask, added, scale)
        else:
            scores = _with(self._compare(queries, keys, scale), further)
            scores = _with(soft_capped(scores, self.config.soft_cap), bias)
            weights = masked_softmax(scores, keep_mask)
            heads = self._multiply(self.drop(weights, training=training), values)
        outputs = self.output_linear(self._merge(heads))
        if keep_mask is not None:
            outputs = outputs * has_keys(keep_mask, outputs.dtype)
        if not (return_weights or return_scores):
            return outputs
        return (outputs, *([weights] * return_weights), *([scores] * return_scores))

    @property
    def _may_fuse(self) -> bool:
        return not self.config.additive and self.config.soft_cap is None

    def _compare(self, queries: Tensor, keys: Tensor, scale: float) -> Tensor:
        if self.score_vectors is not None:
            return additive_scores(queries, keys, self.score_vectors)
        scaled = queries * scale if self.config.scale else queries
        return self._multiply(scaled, ops.swapaxes(keys, -1, -2))

    def _placed(
        self, projected: Tensor, num_heads: int, norm: Any, first_place: Tensor | int
    ) -> Tensor:
        """Returns queries or keys in heads, normalised and turned by their places."""
        if norm is not None and self.config.query_key_norm_over == "all_heads":
            heads = self._split(norm(projected), num_heads)
        else:
            heads = self._split(projected, num_heads)
            heads = heads if norm is None else norm(heads)
        rotary = self.config.rotary
        return heads if rotary is None else rotate(heads, first_place, rotary)

    def _multiply(self, left: Tensor, right: Tensor) -> Tensor:
        """Multiplies `(batch, heads, queries, m)` by `(batch, key_value_heads, m, n)`.

        The heads that share keys become rows of one matrix, so that no key is copied.
        """
        if self.config.num_key_value_heads == self.config.num_heads:
            return ops.matmul(left, right)
        queries, group = (
            ops.shape(left)[2],
            self.config.num_heads // self.config.num_key_value_heads,
        )
        inner = ops.shape(left)[3]
        rows = ops.reshape(left, (-1, self.config.num_key_value_heads, group * queries, inner))
        products = ops.matmul(rows, right)
        return ops.reshape(products, (-1, self.config.num_heads, queries, ops.shape(right)[3]))

    def _split(self, states: Tensor, num_heads: int) -> Tensor:
        """`(batch, length, heads * width)` → `(batch, heads, length, width)`."""
        width = states.shape[-1] // num_heads
        shape = (-1, ops.shape(states)[1], num_heads, width)
        return ops.transpose(ops.reshape(states, shape), (0, 2, 1, 3))

    def _merge(self, heads: Tensor) -> Tensor:
        """`(batch, heads, length, width)` → `(batch, length, heads * width)`."""
        shape = (-1, ops.shape(heads)[2], self.config.num_heads * self.config.value_dim)
        return ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), shape)

    @classmethod
    def arguments_of_flat(cls, flat: dict[str, Any]) -> dict[str, Any]:
        """Reads the base of rotary positions, which stood beside the other options."""
        base = flat.pop("rotary_base", None)
        rotary = None if base is None else RotaryConfig(base=base)
        return super().arguments_of_flat({**flat, "rotary": rotary})

    def compute_output_shape(self, query_shape: Any) -> Any:
        """Returns the query's shape."""
        return query_shape

    def compute_output_spec(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        keep_mask: Tensor | None = None,
        return_weights: bool = False,
        training: bool | None = None,
        bias: Tensor | None = None,
        return_scores: bool = False,
        differs: Tensor | None = None,
        places: Tensor | None = None,
    ) -> Any:
        """Returns the symbolic output, and those of weights and scores where they are asked for."""
        outputs = keras.KerasTensor(query.shape, dtype=self.compute_dtype)
        if not (return_weights or return_scores):
            return outputs
        num_keys = (query if key is None else key).shape[1]
        shape = (query.shape[0], self.config.num_heads, query.shape[1], num_keys)
        further = [
            keras.KerasTensor(shape, dtype=self.compute_dtype)
            for _ in range(return_weights + return_scores)
        ]
        return (outputs, *further)


def _with(scores: Tensor | None, more: Tensor | None) -> Any:
    """Returns the sum of two parts of scores, either of which may be missing."""
    if scores is None or more is None:
        return more if scores is None else scores
    return scores + more
