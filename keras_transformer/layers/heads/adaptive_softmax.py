"""Adaptive softmax (Grave et al. 2017, section 4.3): the probabilities of frequent ids and of
clusters of rarer ones, and within each cluster those of its ids.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformer.config.embedding import clusters_of
from keras_transformer.layers.initializers import normal_initializer
from keras_transformer.layers.products.product import product
from keras_transformer.layers.tokens.adaptive import AdaptiveEmbedding
from keras_transformer.tensors import Tensor


class Softmax(NamedTuple):
    """One of the softmaxes.

    Attributes:
        begin: The id of its first logit.
        projection: `(model_dim, width)`, from states to what the matrix is multiplied by.
        matrix: `(logits, width)`; the first softmax's last rows are the clusters'.
        bias: `(logits,)`, or None.
    """

    begin: int
    projection: Tensor
    matrix: Tensor
    bias: Tensor | None

    def logits(self, states: Tensor) -> Tensor:
        """Returns float32 `(..., logits)` of states `(..., model_dim)`."""
        dtype = states.dtype
        narrow = product(states, ops.cast(self.projection, dtype))
        logits = product(narrow, ops.cast(self.matrix, dtype), transpose_right=True)
        logits = ops.cast(logits, "float32")
        return logits if self.bias is None else logits + ops.cast(self.bias, "float32")


@keras.saving.register_keras_serializable("keras_transformer")
class AdaptiveSoftmax(keras.layers.Layer):
    """Computes log-probabilities, which as logits have themselves as log-softmax.

    That of an id of a cluster is the cluster's plus the id's within it.

    Args:
        vocab_size: Number of ids, the most frequent first.
        cutoffs: The first id of each cluster but the first.
        div_value: How many times narrower states are in each cluster than in the one before.
        use_bias: Whether each logit has a bias.
        tied: Whether matrices are an adaptive embedding's, and projections but the first its
            transposed ones, which `tie` must name before `build`.

    Attributes:
        tokens: The embedding that the layer is tied to, or None.

    Input:
        `(batch, length, model_dim)`.

    Output:
        `(batch, length, vocab_size)`.
    """

    def __init__(
        self,
        vocab_size: int,
        cutoffs: Sequence[int],
        div_value: int = 4,
        use_bias: bool = False,
        tied: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.cutoffs = tuple(cutoffs)
        self.div_value = div_value
        self.use_bias = use_bias
        self.tied = tied
        self.tokens: AdaptiveEmbedding | None = None

    def tie(self, tokens: AdaptiveEmbedding) -> None:
        """Uses an embedding's weights instead of its own; see `VocabularyHead.tie`."""
        own = self.vocab_size, self.cutoffs, self.div_value
        if (tokens.vocab_size, tokens.cutoffs, tokens.div_value) != own:
            raise ValueError("a head cannot use an embedding whose ids are divided otherwise.")
        self.tied = True
        self.tokens = tokens

    def build(self, states_shape: Any) -> None:
        """Creates the weights that the layer does not share.

        Raises:
            ValueError: The layer is tied, but not to any embedding.
        """
        if self.tied and self.tokens is None:
            raise ValueError(
                f"the layer {self.name!r} is tied to an embedding's weights, and its config does "
                "not say to which: call `tie` first."
            )
        width = states_shape[-1]
        self.clusters = clusters_of(self.vocab_size, width, self.cutoffs, self.div_value)
        first = self.clusters[0].width
        self.choices = self._weight("choices", (len(self.cutoffs), first), first)
        self.projections = [
            self._weight(f"projection_{number}", (width, one.width), width)
            for number, one in enumerate(self.clusters[: 1 if self.tied else None])
        ]
        self.matrices = [
            self._weight(f"matrix_{number}", (one.size, one.width), one.width)
            for number, one in enumerate(() if self.tied else self.clusters)
        ]
        sizes = [len(self.cutoffs), *(one.size for one in self.clusters)] if self.use_bias else []
        self.biases = [
            self.add_weight(name=f"bias_{number}", shape=(size,), initializer="zeros")
            for number, size in enumerate(sizes)
        ]

    def _weight(self, name: str, shape: tuple[int, int], fan_in: int) -> Any:
        return self.add_weight(name=name, shape=shape, initializer=normal_initializer(fan_in**-0.5))

    @property
    def softmaxes(self) -> list[Softmax]:
        """That of the first cluster's ids and of the other clusters, then those of each other."""
        projections, matrices = self.projections, self.matrices
        if self.tokens is not None:
            others = map(ops.transpose, self.tokens.projections[1:])
            projections, matrices = [*projections, *others], self.tokens.matrices
        of_choices, *biases = self.biases or [None] * (len(self.clusters) + 1)
        found = [
            Softmax(one.begin, *weights)
            for one, *weights in zip(self.clusters, projections, matrices, biases, strict=True)
        ]
        first = found[0]
        matrix = ops.concatenate([ops.convert_to_tensor(w) for w in (first.matrix, self.choices)])
        bias = first.bias
        if bias is not None:
            bias = ops.concatenate([ops.convert_to_tensor(b) for b in (bias, of_choices)])
        return [first._replace(matrix=matrix, bias=bias), *found[1:]]

    def call(self, states: Tensor) -> Tensor:
        """Returns the log-probabilities of all ids."""
        first, *others = [ops.log_softmax(one.logits(states)) for one in self.softmaxes]
        size = self.clusters[0].size
        found = [
            first[..., :size],
            *(first[..., size + number, None] + within for number, within in enumerate(others)),
        ]
        return ops.cast(ops.concatenate(found, axis=-1), self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "cutoffs": list(self.cutoffs),
            "div_value": self.div_value,
            "use_bias": self.use_bias,
            "tied": self.tied,
        }

    def compute_output_shape(self, states_shape: Any) -> tuple[Any, ...]:
        """Returns `(batch, length, vocab_size)`."""
        return (*states_shape[:-1], self.vocab_size)
