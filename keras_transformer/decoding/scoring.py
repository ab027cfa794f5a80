"""Log-probabilities and attention of given translations, from one pass over each pair (teacher
forcing).
"""

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np
from keras import ops

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.decoding.batches import pad, run_in_batches
from keras_transformer.decoding.parts import ROWS, as_graph
from keras_transformer.layers.masks import padding_mask
from keras_transformer.models import Transformer
from keras_transformer.models.decoding_steps import Source
from keras_transformer.tensors import Tensor
from keras_transformer.translation.engine import Alignment


class TeacherForcing:
    """Log-probabilities and attention of given translations.

    Args:
        model: A trained model.
        batch_tokens: Most padded tokens, source and target together, in a batch.
    """

    def __init__(self, model: Transformer, batch_tokens: int) -> None:
        self._batch_tokens = batch_tokens
        self._special_ids = model.config.special_ids
        self._source_ends = model.config.source_ends
        run = partial(align_tokens, model, special_ids=self._special_ids)
        self._run = as_graph(run, ROWS, ROWS)

    def align(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[Alignment]:
        """Returns the log-probabilities and the attention of each target.

        Args:
            sources: Ids of each source, without begin and end tokens.
            targets: Ids of each target, without begin and end tokens.
        """
        special, ends = self._special_ids, self._source_ends

        def run(places: list[int]) -> list[Alignment]:
            source_ids = pad([[*sources[place], *ends] for place in places], special.pad)
            labels = pad([[*targets[place], special.eos] for place in places], special.pad)
            parts = zip(*map(np.array, self._run(source_ids, labels)), places, strict=True)
            return [
                Alignment(
                    log_probs[: len(targets[place]) + 1],
                    attention[: len(targets[place]) + 1, : len(sources[place]) + 1],
                )
                for log_probs, attention, place in parts
            ]

        pairs = zip(sources, targets, strict=True)
        lengths = [len(source) + len(target) + 2 for source, target in pairs]
        return run_in_batches(lengths, self._batch_tokens, run)


class ScoringModel(Protocol):
    """The methods of a `Transformer` that scoring uses; they are documented there."""

    def read_source(self, source_ids: Tensor) -> Source:
        """Returns what the decoder attends to of sources."""
        ...

    def align(self, target_ids: Tensor, labels: Tensor, source: Source) -> tuple[Tensor, Tensor]:
        """Returns log-probabilities and attention."""
        ...


def align_tokens(
    model: ScoringModel, source_ids: Tensor, labels: Tensor, special_ids: SpecialIds
) -> tuple[Tensor, Tensor]:
    """Scores each token of a batch of translations; runs eagerly and in graphs.

    Args:
        model: A trained model, or its parts as functions of a graph.
        source_ids: int32 `(batch, source_length)`, each row ending with eos, then padding.
        labels: int32 `(batch, target_length)`, likewise.
        special_ids: The model's.

    Returns:
        The log-probability of each label, float32 `(batch, target_length)` in nats, meaningless at
        padding, and the attention to the source at each position
        `(batch, target_length, source_length)`, the mean over all layers and heads.
    """
    start = ops.full_like(labels[:, :1], special_ids.decoder_start)
    # Shorter rows have their end token as an input here, but only after all of their labels.
    target_ids = ops.concatenate([start, labels[:, :-1]], axis=1)
    return model.align(target_ids, labels, model.read_source(source_ids))


def align_ids(
    model: ScoringModel, source_ids: Tensor, labels: Tensor, special_ids: SpecialIds
) -> tuple[Tensor, Tensor]:
    """As `align_tokens`, but with the log-probability of each whole row, float32 `(batch,)`."""
    log_probs, attention = align_tokens(model, source_ids, labels, special_ids)
    is_label = padding_mask(labels, special_ids.pad)
    return ops.sum(ops.where(is_label, log_probs, 0.0), axis=1), attention
