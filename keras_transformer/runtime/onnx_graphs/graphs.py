"""The graphs of one artefact, opened for all threads, and its encoder, with which both decoding and
scoring begin: source ids to keys and values, or states.
"""

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.graph_names import SHORTLIST
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.artefact.shortlist import Listed
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.runtime.loop.batches import IdRows
from keras_transformer.runtime.loop.requests import Ids
from keras_transformer.runtime.onnx_graphs.listed import IDS, WEIGHTS, BatchShortlist
from keras_transformer.runtime.onnx_graphs.providers import Provider
from keras_transformer.runtime.onnx_graphs.sessions import Session, open_session
from keras_transformer.runtime.onnx_graphs.step_graph import StepGraph

# The encoder's output that no other graph reads.
_STATES = "encoder_states"

SourceKeysValues = tuple[npt.NDArray[np.int32], dict[str, npt.NDArray]]


class Sessions(dict[str, Session]):
    """Sessions by graph name, each opened when it is first asked for.

    Args:
        manifest: The artefact's contract.
        files: Its files.
        threads: Threads of each graph.
        providers: onnxruntime's execution providers, best first: names, or tuples of a name and its
            options; the CPU if None.
    """

    def __init__(
        self,
        manifest: Manifest,
        files: ArtefactFiles,
        threads: int,
        providers: Sequence[Provider] | None = None,
    ) -> None:
        super().__init__()
        self._manifest, self._files, self._threads = manifest, files, threads
        self._providers = providers
        self._lock = threading.Lock()
        self._steps: dict[str, StepGraph] = {}

    def step(self, name: str) -> StepGraph:
        """Returns the graph of a decode step."""
        if name not in self._steps:
            self._steps[name] = StepGraph(self[name], self._manifest.graphs[name])
        return self._steps[name]

    def __missing__(self, name: str) -> Session:
        with self._lock:
            if name not in self:
                self[name] = open_session(
                    self._manifest, self._files, name, self._threads, self._providers
                )
            return self[name]


class Graphs:
    """An artefact's graphs; parameters as for `Sessions`."""

    def __init__(
        self,
        manifest: Manifest,
        files: ArtefactFiles,
        threads: int,
        providers: Sequence[Provider] | None = None,
    ) -> None:
        self._manifest = manifest
        marks = SentenceMarks(**manifest.config.get("marks", {}))
        self._source_ends = marks.behind_source(manifest.special_ids.eos)
        self._sessions: Sessions | None = Sessions(manifest, files, threads, providers)
        outputs = manifest.graphs["encoder"].outputs if "encoder" in manifest.graphs else ()
        self._cross = [spec.name for spec in outputs if spec.name != _STATES]

    def open(self, *names: str) -> Sessions:
        """Opens graphs; a caller that holds them may use them, and open others, even after `close`.

        Raises:
            ValueError: A graph cannot be read, or does not match the manifest.
            RuntimeError: The graphs are closed.
        """
        sessions = self._sessions
        if sessions is None:
            raise RuntimeError("the model is closed: open it again.")
        for name in names:
            sessions[name]
        return sessions

    def close(self) -> None:
        """Releases the graphs: they are freed when they are no longer in use."""
        self._sessions = None

    def keys_values(self, encoder: Session, sources: IdRows) -> SourceKeysValues:
        """Runs the encoder and returns the keys and values that the decoder attends to.

        Args:
            encoder: Its session.
            sources: Ids of each text, without bos and eos.

        Returns:
            A mask int32 `(batch, source_length)`, 1 for tokens, and the cross-attention's keys and
            values by their names.
        """
        source_ids = self._pad(sources)
        cross = encoder.outputs(self._cross, {"source_ids": source_ids})
        mask = (source_ids != self._manifest.special_ids.pad).astype(np.int32)
        return mask, dict(zip(self._cross, cross, strict=True))

    def states(self, encoder: Session, sources: IdRows) -> list[npt.NDArray[np.float32]]:
        """Returns the encoder's states of each source: `(source_length, model_dim)`, eos included.

        Args:
            encoder: Its session.
            sources: Ids of each text, without bos and eos.
        """
        [found] = encoder.run([_STATES], {"source_ids": self._pad(sources)})
        states = found.astype(np.float32)
        return [state[: len(row) + 1] for state, row in zip(states, sources, strict=True)]

    def _pad(self, sources: IdRows) -> npt.NDArray[np.int32]:
        ids = self._manifest.special_ids
        return pad_sources(sources, pad_id=ids.pad, ends=self._source_ends)


def pad_sources(rows: IdRows, *, pad_id: int, ends: Sequence[int]) -> Ids:
    """Ends each row with fixed ids and pads it on the right.

    Args:
        rows: Ids of each sentence of a batch, without bos and eos.
        pad_id: What fills a row up.
        ends: What ends a row: eos, and what the model reads behind it.

    Returns:
        int32 `(batch, source_length)`, as long as the longest row and its ends.
    """
    source_length = max(map(len, rows), default=0) + len(ends)
    padded = np.full((len(rows), source_length), pad_id, np.int32)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
        target[len(row) : len(row) + len(ends)] = ends
    return padded


def batch_shortlist(opened: Sessions, listed: Listed, vocab_size: int) -> BatchShortlist:
    """Returns a batch's shortlist, whose weights the graph for it gathers.

    Args:
        opened: The artefact's sessions.
        listed: The batch's ids.
        vocab_size: Number of all target ids.
    """

    def gather() -> npt.NDArray:
        return opened[SHORTLIST].run([WEIGHTS], {IDS: listed.ids})[0]

    return BatchShortlist(listed.ids, vocab_size, gather)
