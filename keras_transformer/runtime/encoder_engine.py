"""The engine of an exported encoder: rows of ids in any number and order, in batches over sessions.
It knows nothing of text.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.graph_names import CHAIN
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.runtime.loop.even_batches import even_batches
from keras_transformer.runtime.onnx_graphs.graphs import Sessions
from keras_transformer.runtime.onnx_graphs.providers import Provider
from keras_transformer.runtime.workers import Workers, check_sizes
from keras_transformer.search.text_limits import check_vocabulary
from keras_transformer.understanding.engine import Array, Row, TagPath, padded_states

Inputs = dict[str, npt.NDArray[Any]]
# Heads with an output for each token.
_OF_TOKENS = ("tagging", "spans")


class OnnxEncoderEngine:
    """An opened artefact as an `EncoderEngine`; any number of threads may use it at once.

    Args:
        manifest: The artefact's contract.
        files: Its files.
        threads: Threads of the graphs; one for each core that the process may use if None.
        batch_tokens: Most padded tokens in a batch; chosen for the model's sizes if None.
        providers: onnxruntime's execution providers, best first: names, or tuples of a name and its
            options; the CPU if None.

    Attributes:
        config: The model's config.

    Raises:
        ValueError: A number is below 1, or a graph does not match the manifest.
    """

    def __init__(
        self,
        manifest: Manifest,
        files: ArtefactFiles,
        threads: int | None,
        batch_tokens: int | None,
        providers: Sequence[Provider] | None = None,
    ) -> None:
        self.config = EncoderConfig.from_dict(dict(manifest.config))
        check_sizes(batch_tokens=batch_tokens)
        self._workers = Workers(manifest, files, threads, providers)
        self._batch_tokens = batch_tokens or self._workers.read_tokens
        self._outputs = {
            name: [output.name for output in graph.outputs]
            for name, graph in manifest.graphs.items()
        }
        self._workers.graphs.open("encoder")

    def close(self) -> None:
        """Releases the graphs; calls that are running finish, later ones raise RuntimeError."""
        self._workers.close()

    def states(self, rows: Sequence[Row]) -> list[Array]:
        """As `EncoderEngine.states`."""
        found = self._run("encoder", rows)
        return [one[: len(row.token_ids)] for one, row in zip(found, rows, strict=True)]

    def head(self, rows: Sequence[Row], places: Sequence[Sequence[int]] | None = None) -> list:
        """As `EncoderEngine.head`."""
        found = self._run("head", rows, places)
        if places is not None:
            return [one[: len(places[number])] for number, one in enumerate(found)]
        if self.config.head in _OF_TOKENS:
            return [one[: len(row.token_ids)] for one, row in zip(found, rows, strict=True)]
        return found

    def tag_paths(self, logits: Sequence[Array]) -> list[TagPath]:
        """As `EncoderEngine.tag_paths`."""
        lengths = list(map(len, logits))

        def inputs(batch: list[int]) -> Inputs:
            num_words = np.array([lengths[row] for row in batch], np.int32)
            return {"logits": padded_states([logits[row] for row in batch]), "num_words": num_words}

        found = self._in_batches(CHAIN, lengths, inputs)
        return [TagPath(*one).cut(length) for one, length in zip(found, lengths, strict=True)]

    def next_sentence(self, rows: Sequence[Row]) -> list[Array]:
        """As `EncoderEngine.next_sentence`."""
        return self._run("next_sentence", rows)

    def _run(
        self, graph: str, rows: Sequence[Row], places: Sequence[Sequence[int]] | None = None
    ) -> list[Array]:
        """Runs a graph on batches of rows and returns its output for each, padding included."""
        ids = [row.token_ids for row in rows]
        check_vocabulary(ids, self.config.vocab_size, self.config.max_positions)

        def inputs_of(batch: list[int]) -> Inputs:
            inputs = {
                "token_ids": _padded([ids[row] for row in batch], self.config.special_ids.pad)
            }
            if self.config.num_token_types > 1:
                inputs["token_type_ids"] = _padded([rows[row].token_type_ids for row in batch], 0)
            if places is not None:
                inputs["places"] = _padded([places[row] for row in batch], 0)
            return inputs

        found = self._in_batches(graph, list(map(len, ids)), inputs_of)
        return [output.astype(np.float32, copy=False) for output, *_ in found]

    def _in_batches(
        self, graph: str, lengths: Sequence[int], inputs_of: Callable[[list[int]], Inputs]
    ) -> list[tuple[Any, ...]]:
        """Runs a graph and returns its outputs for each row.

        Args:
            graph: Its name.
            lengths: The length of each row.
            inputs_of: Takes the numbers of a batch's rows and returns the graph's inputs.
        """
        division = self._workers.divide(len(lengths), 1)
        opened: Sessions = division.graphs.open(graph)
        batches = even_batches(lengths, batch_tokens=self._batch_tokens, workers=division.at_a_time)

        def run(batch: list[int]) -> Any:
            outputs = opened[graph].run(self._outputs[graph], inputs_of(batch))
            return list(zip(*outputs, strict=True))

        found = self._workers.by_place(run, batches, division.at_a_time)
        return [found[row] for row in range(len(lengths))]


def _padded(rows: Sequence[Sequence[int]], filler: int) -> npt.NDArray[np.int32]:
    padded = np.full((len(rows), max(map(len, rows))), filler, np.int32)
    for line, row in zip(padded, rows, strict=True):
        line[: len(row)] = row
    return padded
