"""The simpler simple recurrent unit (Kim et al. 2019, "From Research to Production and Back"),
which stands in for a decoder's self-attention.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.config.stack import RecurrenceConfig
from keras_transformer.layers.initializers import linear_initializer
from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.variants.configured import Configured
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class SSRU(Configured):
    """Mixes each place with those before it, feature by feature, in one state of fixed size.

    With the input x_t of place t and the state before it c_{t-1}, which begins as 0, f_t =
    σ(W_f x_t + b_f), c_t = f_t ⊙ c_{t-1} + (1 - f_t) ⊙ W x_t, and the output is max(0, c_t).

    Args:
        config: Whether the forget gate f has its bias.

    Input and output:
        `(batch, length, model_dim)`.

    Example:
        >>> layer = SSRU(RecurrenceConfig())
        >>> layer(keras.ops.ones((1, 3, 8))).shape
        TensorShape([1, 3, 8])
    """

    config: RecurrenceConfig
    config_class = RecurrenceConfig

    def build(self, input_shape: Any) -> None:
        """Creates the two linear layers for the input's width."""
        self.candidate, self.forget = (
            Dense(
                input_shape[-1],
                use_bias=use_bias,
                kernel_initializer=linear_initializer(),
                dtype=self.dtype_policy,
                name=name,
            )
            for name, use_bias in (("candidate", False), ("forget", self.config.use_bias))
        )
        for linear in self.linear_layers:
            linear.build(input_shape)

    @property
    def linear_layers(self) -> tuple[Dense, ...]:
        """W and W_f, once built."""
        return self.candidate, self.forget

    @property
    def state_dtype(self) -> str:
        """The dtype of states: at least float32, as many small changes add up in them."""
        dtype: str = keras.backend.result_type(self.compute_dtype, "float32")
        return dtype

    def empty_state(self, rows: Tensor | int) -> Tensor:
        """Returns the state before the first token: zeros `(rows, model_dim)`."""
        return ops.zeros((rows, self.candidate.units), self.state_dtype)

    def call(self, inputs: Tensor, keep_mask: Tensor | None = None) -> Tensor:
        """Reads whole sequences.

        Args:
            inputs: `(batch, length, model_dim)`.
            keep_mask: Boolean `(batch, length)`, True at real tokens, the others leave the state as
                it is; all if None.
        """
        states, _ = self._run(inputs, keep_mask, None)
        return self._outputs(states)

    def step(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Reads the next tokens: one, or several at once.

        Args:
            inputs: `(rows, tokens, model_dim)`.
            state: `(rows, model_dim)`, zeros before the first token.

        Returns:
            Outputs `(rows, tokens, model_dim)` and the state after the last token.
        """
        states, last = self._run(inputs, None, state)
        return self._outputs(states), last

    def _run(
        self, inputs: Tensor, keep_mask: Tensor | None, state: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Returns the state after each place `(batch, length, model_dim)`, and the last one."""
        forget = ops.sigmoid(ops.cast(self.forget(inputs), self.state_dtype))
        added = (1 - forget) * ops.cast(self.candidate(inputs), self.state_dtype)
        if keep_mask is not None:
            forget = ops.where(keep_mask[:, :, None], forget, 1)
            added = ops.where(keep_mask[:, :, None], added, 0)
        kept, states = since_the_first(forget, added)
        if state is not None:
            states = states + kept * ops.cast(state, self.state_dtype)[:, None]
        return states, states[:, -1]

    def _outputs(self, states: Tensor) -> Tensor:
        return ops.cast(ops.relu(states), self.compute_dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the input's shape."""
        return input_shape


def since_the_first(kept: Tensor, added: Tensor) -> tuple[Tensor, Tensor]:
    """Solves c_t = kept_t ⊙ c_{t-1} + added_t for all places at once.

    Place t is joined with the places 1, 2, 4, … before it (Hillis and Steele 1986), so that a
    sequence takes as many operations as its length has binary digits.

    Args:
        kept: `(batch, length, width)`.
        added: As `kept`.

    Returns:
        For each place a factor and a summand, both shaped as `kept`: c_t = factor_t ⊙ c_0 +
        summand_t, where c_0 is the state before the first place.
    """
    length = kept.shape[1]
    if length is not None:
        distance = 1
        while distance < length:
            kept, added = _joined(kept, added, distance)
            distance *= 2
        return kept, added
    length = ops.shape(kept)[1]
    # XLA makes room for what gradients need of this many rounds, of which there must be one.
    rounds = ops.cast(ops.ceil(ops.log2(ops.cast(length + 1, "float32"))), "int32")
    _, kept, added = ops.while_loop(
        lambda distance, *_: distance < length,
        lambda distance, kept, added: (2 * distance, *_joined(kept, added, distance)),
        (ops.ones((), "int32"), kept, added),
        maximum_iterations=rounds,
    )
    return kept, added


def _joined(kept: Tensor, added: Tensor, distance: Tensor | int) -> tuple[Tensor, Tensor]:
    """Returns factors and summands that reach back `distance` places more."""
    before = ops.arange(ops.shape(kept)[1], dtype="int32") - distance
    is_place, before = (before >= 0)[:, None], ops.maximum(before, 0)
    before_kept = ops.where(is_place, ops.take(kept, before, axis=1), 1)
    before_added = ops.where(is_place, ops.take(added, before, axis=1), 0)
    return kept * before_kept, kept * before_added + added
