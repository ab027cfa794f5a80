"""The logits that graphs with a shortlist must compute: those of Keras, and -inf for all ids that
are not on the list.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.graph_names import SHORTLIST
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.artefact.shortlist import FILLER, Listed, Shortlist
from keras_transformer.export.onnx.check.running import Arrays, checked_graphs
from keras_transformer.models.transformer import Transformer
from keras_transformer.runtime.onnx_graphs.listed import IDS, PLACES, WEIGHTS, BatchShortlist


@dataclass(frozen=True)
class CheckedShortlist:
    """The shortlist of a batch of texts, or none.

    Attributes:
        inputs: The graphs' inputs that depend on it.
        head: Maps states `(rows, tokens, model_dim)` to logits of all ids; None for the model's own
            head.
        spread: Expands the logits of a decode step to all ids.
        labels: Maps ids to the labels that a graph takes.
    """

    inputs: Arrays
    head: Callable[[Any], Any] | None
    spread: Callable[[np.ndarray], np.ndarray]
    labels: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of(
        cls,
        model: Transformer,
        manifest: Manifest,
        files: ArtefactFiles,
        source_ids: np.ndarray,
        target_ids: np.ndarray,
    ) -> "CheckedShortlist":
        """Chooses the ids of texts `(batch, source_length)` and of their translations."""
        if manifest.shortlist is None:
            return cls({}, None, lambda logits: logits, lambda ids: ids)
        size = model.config.target_vocab_size
        shortlist = Shortlist.read(
            files.directory / manifest.shortlist.file, size, files.content(manifest.shortlist)
        )
        listed = shortlist.choose(source_ids.tolist(), target_ids.tolist())
        [gather] = checked_graphs(manifest, files, SHORTLIST)
        weights = gather.run({IDS: listed.ids})
        of_batch = BatchShortlist(listed.ids, size, lambda: weights[WEIGHTS])
        return cls(
            {IDS: listed.ids, PLACES: listed.places, **weights},
            lambda states: _masked(model.head(states), _allowed(listed, size)),
            lambda logits: of_batch.spread(logits, listed.places),
            lambda ids: listed.labels(np.ascontiguousarray(ids)),
        )


def _allowed(listed: Listed, size: int) -> np.ndarray:
    """Returns which ids each text has: boolean `(batch, vocabulary)`."""
    allowed = np.zeros((len(listed.places), size), bool)
    for row, places in zip(allowed, listed.places, strict=True):
        row[listed.ids[places[places != FILLER]]] = True
    return allowed


def _masked(logits: Any, allowed: np.ndarray) -> Any:
    """Returns logits `(rows, tokens, vocabulary)` with -inf for ids that are not allowed."""
    each = tf.shape(logits)[0] // len(allowed)
    return tf.where(tf.repeat(allowed, each, axis=0)[:, None], logits, np.float32(-np.inf))
