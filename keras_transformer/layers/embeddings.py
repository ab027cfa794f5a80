"""Embeddings: the input of a stack of blocks, scaled tokens plus positions, with dropout (paper,
sections 3.4, 3.5 and 5.4). Only this layer adds a token to a position.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.initializers import linear_initializer
from keras_transformer.layers.positions import LearnedPositions, Positions, SinusoidalPositions
from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.token_embedding import TokenEmbedding
from keras_transformer.layers.tokens.adaptive import AdaptiveEmbedding
from keras_transformer.layers.tokens.characters import CharacterEmbedding
from keras_transformer.layers.variants.composite import Composite
from keras_transformer.layers.variants.layer_norm import LayerNorm
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class Embeddings(Composite):
    """Embeds ids: tokens + positions, with dropout on the sum; by default as in the paper.

    Args:
        vocab_size: Number of token ids.
        model_dim: Width of a vector.
        max_positions: Number of learned positions; sinusoidal positions if None.
        dropout: Probability of dropping a feature of the sum in training.
        add_positions: Whether positions are added; False where attention has them.
        position_offset: What the first token's position counts as.
        sinusoid_layout: "interleaved" or "halves"; see `SinusoidalPositions`.
        num_token_types: Number of token types, such as BERT's two segments; 0 for none.
        norm_epsilon: Added to the variance of a layer normalisation of the sum, before dropout;
            None for no normalisation.
        scale: Whether tokens are multiplied by √model_dim.
        projected_dim: Width that a linear layer with a bias gives to the result (Lan et al. 2019);
            None without one.
        cutoffs: Where clusters of rarer ids begin, whose vectors are narrower, as for
            `AdaptiveEmbedding`; empty for one matrix of all ids.
        div_value: As there.
        characters: The arguments of a `CharacterEmbedding` beside sizes and scale, which makes
            vectors of tokens from their bytes; None for a matrix.

    Attributes:
        tokens: The `TokenEmbedding`, which another layer may share, `AdaptiveEmbedding` or
            `CharacterEmbedding`.
        positions: `SinusoidalPositions` or `LearnedPositions`; None without positions.
        token_types: A `TokenEmbedding` without scale; None without token types.
        layer_norm: The normalisation of the sum; None without.
        projection: The linear layer behind all of them; None without.

    Input:
        ids `(batch, length)`, integer; keep_mask boolean `(batch, length)`, True at real tokens;
        token_type_ids `(batch, length)`, integer, all 0 if None.

    Output:
        `(batch, length, model_dim)`, or of width `projected_dim`.
    """

    def __init__(
        self,
        vocab_size: int,
        model_dim: int,
        max_positions: int | None = None,
        dropout: float = 0.1,
        add_positions: bool = True,
        position_offset: int = 0,
        sinusoid_layout: str = "interleaved",
        num_token_types: int = 0,
        norm_epsilon: float | None = None,
        scale: bool = True,
        projected_dim: int | None = None,
        cutoffs: Sequence[int] = (),
        div_value: int = 4,
        characters: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if num_token_types < 0:
            raise ValueError(f"num_token_types must be at least 0, got {num_token_types}.")
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.model_dim = model_dim
        self.max_positions = max_positions
        self.dropout = dropout
        self.add_positions = add_positions
        self.position_offset = position_offset
        self.sinusoid_layout = sinusoid_layout
        self.num_token_types = num_token_types
        self.norm_epsilon = norm_epsilon
        self.scale = scale
        self.projected_dim = projected_dim
        self.cutoffs = tuple(cutoffs)
        self.div_value = div_value
        self.characters = None if characters is None else dict(characters)
        policy = self.dtype_policy
        self.tokens = self._make_tokens()
        self.positions = self._make_positions()
        self.token_types: TokenEmbedding | None = None
        if num_token_types:
            self.token_types = TokenEmbedding(
                num_token_types, model_dim, scale=False, dtype=policy, name="token_types"
            )
        self.layer_norm: Any = None
        if norm_epsilon is not None:
            self.layer_norm = LayerNorm(epsilon=norm_epsilon, dtype=policy, name="layer_norm")
        self.drop = keras.layers.Dropout(dropout, dtype=policy, name="drop")
        self.projection: Any = None
        if projected_dim is not None:
            self.projection = Dense(
                projected_dim,
                kernel_initializer=linear_initializer(),
                dtype=policy,
                name="projection",
            )

    def _make_tokens(self) -> Any:
        named: dict[str, Any] = {"dtype": self.dtype_policy, "name": "tokens", "scale": self.scale}
        named |= {"vocab_size": self.vocab_size, "model_dim": self.model_dim}
        if self.characters is not None:
            return CharacterEmbedding(**named, **self.characters)
        if self.cutoffs:
            return AdaptiveEmbedding(cutoffs=self.cutoffs, div_value=self.div_value, **named)
        return TokenEmbedding(**named)

    def _make_positions(self) -> Positions | None:
        arguments = {
            "offset": self.position_offset,
            "dtype": self.dtype_policy,
            "name": "positions",
        }
        self._check_positions()
        if not self.add_positions:
            return None
        if self.max_positions is None:
            return SinusoidalPositions(self.model_dim, layout=self.sinusoid_layout, **arguments)
        return LearnedPositions(self.model_dim, self.max_positions, **arguments)

    def _check_positions(self) -> None:
        """Raises if an argument is of a kind of positions that the layer has not."""
        if not self.add_positions and (self.max_positions is not None or self.position_offset):
            raise ValueError(
                "max_positions and position_offset need add_positions=True, got "
                f"max_positions={self.max_positions} and position_offset={self.position_offset}."
            )
        is_sinusoidal = self.add_positions and self.max_positions is None
        if not is_sinusoidal and self.sinusoid_layout != "interleaved":
            raise ValueError(
                f"sinusoid_layout={self.sinusoid_layout!r} needs add_positions=True and "
                f"max_positions=None, got add_positions={self.add_positions} and "
                f"max_positions={self.max_positions}."
            )

    def share_tokens(self, other: "Embeddings") -> None:
        """Uses the token matrix of another layer instead of its own; call this before `build`.

        The layer's config does not record this: the model shares the matrix again when it is
        loaded.
        """
        if (self.vocab_size, self.model_dim) != (other.vocab_size, other.model_dim):
            raise ValueError(
                f"embeddings of {self.vocab_size} ids x {self.model_dim} and of "
                f"{other.vocab_size} x {other.model_dim} cannot share a matrix."
            )
        if self.scale != other.scale:
            raise ValueError("embeddings with and without a scale cannot share a matrix.")
        del self.tokens
        self.tokens = other.tokens

    def build(
        self, ids_shape: Any, keep_mask_shape: Any = None, token_type_ids_shape: Any = None
    ) -> None:
        """Creates the matrices, unless the layer that shares them has, norm and projection."""
        for layer in (self.tokens, self.positions, self.token_types):
            if layer is not None and not layer.built:
                layer.build(ids_shape)
        for part in (self.layer_norm, self.projection):
            if part is not None:
                part.build((*ids_shape, self.model_dim))

    def call(
        self,
        ids: Tensor,
        keep_mask: Tensor,
        token_type_ids: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Embeds whole sequences; positions count real tokens.

        Raises:
            ValueError: There are `token_type_ids`, but the layer has no token types.
        """
        positions = None if self.positions is None else self.positions(keep_mask)
        states = self._add(self.tokens(ids), positions, token_type_ids)
        return self._project(self.drop(states, training=training))

    def _add(
        self, tokens: Tensor, positions: Tensor | None, token_type_ids: Tensor | None
    ) -> Tensor:
        states = tokens if positions is None else tokens + positions
        if self.token_types is None and token_type_ids is not None:
            raise ValueError("token_type_ids need embeddings with num_token_types, which is 0.")
        if self.token_types is not None:
            if token_type_ids is None:
                token_type_ids = ops.zeros((1, 1), dtype="int32")
            states = states + self.token_types(token_type_ids)
        return states if self.layer_norm is None else self.layer_norm(states)

    def step(self, ids: Tensor, position: Tensor) -> Tensor:
        """Embeds one token of each row, all at the same position and of type 0, without dropout.

        Args:
            ids: Integer `(rows,)`, or `(rows, tokens)` for several that follow each other.
            position: int32 scalar, that of the first.

        Returns:
            `(rows, tokens, model_dim)`, or of width `projected_dim`.
        """
        if len(ids.shape) == 1:
            ids = ids[:, None]
        elif self.positions is not None:
            position = position + ops.arange(ops.shape(ids)[1], dtype="int32")
        positions = None if self.positions is None else self.positions.vectors(position)
        return self._project(self._add(self.tokens(ids), positions, token_type_ids=None))

    def _project(self, states: Tensor) -> Tensor:
        return states if self.projection is None else self.projection(states)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "model_dim": self.model_dim,
            "max_positions": self.max_positions,
            "dropout": self.dropout,
            "add_positions": self.add_positions,
            "position_offset": self.position_offset,
            "sinusoid_layout": self.sinusoid_layout,
            "num_token_types": self.num_token_types,
            "norm_epsilon": self.norm_epsilon,
            "scale": self.scale,
            "projected_dim": self.projected_dim,
            "cutoffs": list(self.cutoffs),
            "div_value": self.div_value,
            "characters": self.characters,
        }

    def compute_output_shape(
        self, ids_shape: Any, keep_mask_shape: Any = None, token_type_ids_shape: Any = None
    ) -> tuple[Any, ...]:
        """Returns `(batch, length, model_dim)`, or of width `projected_dim`."""
        width = self.model_dim if self.projection is None else self.projected_dim
        return (*ids_shape, width)
