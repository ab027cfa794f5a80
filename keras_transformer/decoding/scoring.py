"""How probable a given translation is: pairs of id sequences come in, log-probabilities leave, from
one pass of the full model over each target (teacher forcing).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops

from keras_transformer.decoding.batches import batches, pad
from keras_transformer.models import Transformer
from keras_transformer.special_ids import BOS_ID, EOS_ID, PAD_ID

Tensor = Any


class TeacherForcing:
    """Log-probabilities of given translations.

    Args:
        model: A trained model.
        batch_tokens: Most padded tokens, source and target together, in a batch.
    """

    def __init__(self, model: Transformer, batch_tokens: int) -> None:
        self._model = model
        self._batch_tokens = batch_tokens
        ids = tf.TensorSpec((None, None), tf.int32)
        self._run = tf.function(self._log_probabilities, input_signature=[ids, ids])

    def log_probabilities(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[float]:
        """Returns the log-probability of each target, its end token included, in nats.

        Args:
            sources: Ids of each source, without begin and end tokens.
            targets: Ids of each target, without begin and end tokens.
        """
        lengths = {
            place: len(source) + len(target) + 2
            for place, (source, target) in enumerate(zip(sources, targets, strict=True))
        }
        found = np.zeros(len(lengths))
        for places in batches(lengths, self._batch_tokens):
            source_ids = pad([[*sources[place], EOS_ID] for place in places], PAD_ID)
            labels = pad([[*targets[place], EOS_ID] for place in places], PAD_ID)
            found[places] = np.array(self._run(source_ids, labels))
        return found.tolist()

    def _log_probabilities(self, source_ids: Tensor, labels: Tensor) -> Tensor:
        start = ops.full_like(labels[:, :1], BOS_ID)
        # The end token that shorter rows read here comes after all of their labels.
        target_ids = ops.concatenate([start, labels[:, :-1]], axis=1)
        logits = self._model({"source_ids": source_ids, "target_ids": target_ids}, training=False)
        logits = ops.cast(logits, "float32")
        own = ops.take_along_axis(logits, labels[:, :, None], axis=2)[:, :, 0]
        log_probs = own - ops.logsumexp(logits, axis=-1)
        return ops.sum(ops.where(labels != PAD_ID, log_probs, 0.0), axis=1)
