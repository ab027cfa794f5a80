"""Keras's logits under an artefact's shortlist, -inf but for the ids on the list, which the graphs
must compute.
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
    """The shortlist of some texts, or none.

    Attributes:
        inputs: What graphs take of it.
        head: Takes states `(rows, tokens, model_dim)` and returns logits of all ids; None for the
            model's own.
        spread: Makes logits of all ids of a step's.
        labels: Makes labels of a graph of ids.
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
    """Returns logits `(rows, tokens, vocabulary)` of ids that are allowed, -inf for others."""
    each = tf.shape(logits)[0] // len(allowed)
    return tf.where(tf.repeat(allowed, each, axis=0)[:, None], logits, np.float32(-np.inf))
