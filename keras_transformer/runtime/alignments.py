"""Scores and attention of given translations, from one pass over each pair (teacher forcing)."""

from collections.abc import Iterator, Sequence

import numpy as np

from keras_transformer.artefact.manifest import Manifest
from keras_transformer.artefact.shortlist import Shortlist
from keras_transformer.runtime.loop.batches import IdRows, plan_batches
from keras_transformer.runtime.onnx_graphs.graphs import (
    Graphs,
    Sessions,
    batch_shortlist,
    pad_sources,
)
from keras_transformer.runtime.onnx_graphs.listed import PLACES, WEIGHTS
from keras_transformer.translation.engine import Alignment

Pair = tuple[Sequence[int], Sequence[int]]


def align(
    manifest: Manifest,
    graphs: Graphs,
    sources: IdRows,
    targets: IdRows,
    batch_tokens: int,
    shortlist: Shortlist | None = None,
) -> list[Alignment]:
    """Returns an alignment of each pair, in order.

    Args:
        manifest: The artefact's contract.
        graphs: Its graphs.
        sources: Ids of each text, without bos and eos.
        targets: Ids of its translation, likewise; as many as sources.
        batch_tokens: Most padded tokens on the longer side of a batch.
        shortlist: The artefact's; a pair's probabilities are those among its ids and the target's.
    """
    opened = graphs.open("encoder", "scorer")
    lengths = [max(2, len(s) + 1, len(t) + 1) for s, t in zip(sources, targets, strict=True)]
    found: dict[int, Alignment] = {}
    for places in plan_batches(lengths, batch_tokens=batch_tokens):
        pairs = [(sources[place], targets[place]) for place in places]
        alignments = _align_batch(manifest, graphs, opened, pairs, shortlist)
        found.update(zip(places, alignments, strict=True))
    return [found[place] for place in range(len(lengths))]


def _align_batch(
    manifest: Manifest,
    graphs: Graphs,
    opened: Sessions,
    pairs: Sequence[Pair],
    shortlist: Shortlist | None,
) -> Iterator[Alignment]:
    ids = manifest.special_ids
    mask, cross = graphs.keys_values(opened["encoder"], [source for source, _ in pairs])
    labels = pad_sources([target for _, target in pairs], pad_id=ids.pad, ends=[ids.eos])
    target_ids = np.roll(labels, 1, axis=1)
    target_ids[:, 0] = ids.decoder_start
    inputs = {"target_ids": target_ids, "labels": labels, "source_mask": mask, **cross}
    if shortlist is not None:
        listed = shortlist.choose(*map(list, zip(*pairs, strict=True)))
        size = shortlist.target_vocab_size
        inputs[WEIGHTS] = batch_shortlist(opened, listed, size).weights
        inputs.update({"labels": listed.labels(labels), PLACES: listed.places})
    log_probabilities, attention = opened["scorer"].run(["log_probabilities", "attention"], inputs)
    for row, (source, target) in enumerate(pairs):
        length = len(target) + 1
        yield Alignment(log_probabilities[row, :length], attention[row, :length, : len(source) + 1])
