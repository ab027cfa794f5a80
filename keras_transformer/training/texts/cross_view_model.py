"""The model that `fit` trains on texts with and without labels: cross-view training (Clark et al.
2018).
"""

from typing import Any

from keras import ops

from keras_transformer.layers.heads.classes import ClassHead
from keras_transformer.layers.masks import causal_mask, padding_mask
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.tensors import Tensor
from keras_transformer.training.loop.training_model import TrainingModel

# What a view's head reads at a token: the text up to it, from it on, before it, behind it
# (section 3.2).
VIEWS = ("forward", "backward", "past", "future")


class CrossViewModel(TrainingModel):
    """An encoder with the head "classification" or "tagging", and a head for each of its views.

    Labels of -1 stand for none: there the views learn what the model says that sees the whole text,
    which learns from the other labels alone. A classifier's views name the label of a text at each
    of its tokens.

    Args:
        transformer: The encoder whose weights are trained.
        label_smoothing: As for `TrainingModel`.
    """

    def __init__(self, transformer: EncoderOnly, label_smoothing: float = 0.0) -> None:
        super().__init__(transformer, label_smoothing)
        config = transformer.config
        self.views = [
            ClassHead(len(config.labels), config.dropout, name=f"view_{name}") for name in VIEWS
        ]
        for head in self.views:
            head.build((None, None, config.model_dim))

    def mean_and_weight(
        self, x: Any, y: Tensor, y_pred: Tensor, sample_weight: Tensor, training: bool
    ) -> tuple[Tensor, Tensor]:
        """Returns the loss of the labels and, in training, that of the views without them, and the
        weight of the labels.

        Args:
            x: The batch's inputs.
            y: Labels int32, `(batch, 1)` of texts, `(batch, length)` of tokens; -1 for none.
            y_pred: The encoder's states.
            sample_weight: float32 as `y`, 0 where there is no label.
            training: Whether the states come from a training pass.
        """
        given = x, ops.maximum(y, 0), y_pred, sample_weight, training
        loss, weight = super().mean_and_weight(*given)
        return loss + self.view_loss(x, y < 0) if training else loss, weight

    def view_loss(self, inputs: dict[str, Tensor], is_asked: Tensor) -> Tensor:
        """Returns the sum over views of KL(p‖q): p of the model, without a gradient, q of a view.

        It is the mean over tokens of taggers, over texts of classifiers, whose tokens weigh alike.

        Args:
            inputs: The batch's.
            is_asked: Boolean, `(batch, 1)` of texts, `(batch, length)` of tokens.
        """
        keep = padding_mask(inputs["token_ids"], self.transformer.config.special_ids.pad)
        wanted = self.transformer(inputs, training=False)
        if len(wanted.shape) == 2:
            wanted = wanted[:, None]
            each = 1 / ops.sum(ops.cast(keep, "float32"), axis=1, keepdims=True)
        else:
            each = 1.0
        weights = ops.cast(keep & is_asked, "float32") * each
        log_p = ops.stop_gradient(ops.log_softmax(ops.cast(wanted, "float32")))
        losses = 0.0
        for head, states in zip(self.views, self.states_of_views(inputs, keep), strict=True):
            log_q = ops.log_softmax(ops.cast(head(states, training=True), "float32"))
            losses = losses + ops.sum(ops.exp(log_p) * (log_p - log_q), axis=-1)
        return ops.sum(losses * weights) / ops.maximum(ops.sum(weights), 1.0)

    def states_of_views(self, inputs: dict[str, Tensor], keep: Tensor) -> list[Tensor]:
        """Returns what each view's head reads, `(batch, length, model_dim)` each.

        Before the first token and behind the last one there is nothing: zeros.
        """
        ids, types = inputs["token_ids"], inputs.get("token_type_ids")
        embeds_types = self.transformer.config.embedded_token_types
        of_words = types if embeds_types else None
        embedded = self.transformer.embeddings(ids, keep, of_words, training=True)
        before = causal_mask(ops.shape(ids)[1])
        forward, backward = (
            self.transformer.encoder_stack(
                embedded, keep, training=True, visible=visible, token_type_ids=types
            )
            for visible in (before, ops.transpose(before))
        )
        # Padding sees itself alone, and is no text.
        backward = ops.where(keep[:, :, None], backward, ops.zeros_like(backward))
        nothing = ops.zeros_like(forward[:, :1])
        past = ops.concatenate([nothing, forward[:, :-1]], axis=1)
        future = ops.concatenate([backward[:, 1:], nothing], axis=1)
        return [forward, backward, past, future]
