"""Sentence vectors of exported encoders beside float32's: cosines and seconds of processor time, of
our artefacts and of a peer's ONNX file with the usual inputs of BERT.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import onnxruntime as ort

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.runtime.encoder import OnnxEncoder
from keras_transformer.runtime.tokenizers import open_text_ids
from keras_transformer.text.layout import encoder_row

PEER, UNSORTED = "peer", "peer, unsorted"
_BATCH = 32

# Returns the vectors of all texts.
Work = Callable[[], np.ndarray]


def compare(
    directories: Sequence[Path], peer: Path | None, texts: Sequence[str], repeats: int
) -> str:
    """Measures engines in turns on one thread and returns a table.

    Args:
        directories: Artefacts of one encoder; the first is the reference.
        peer: An ONNX file that takes `input_ids`, `attention_mask` and maybe `token_type_ids` of
            the same vocabulary, and returns states, whose mean is taken; None for no peer. It
            reads texts in batches of like length, and in their own order.
        texts: What is encoded.
        repeats: Turns of each engine, after one that warms up.
    """
    encoders = {directory.name: OnnxEncoder(directory, threads=1) for directory in directories}
    if len(encoders) < len(directories):
        raise ValueError("artefacts need names of their own: two directories have the same one.")
    works: dict[str, Work] = {
        name: lambda one=encoder: one.embed(texts)  # type: ignore[misc]
        for name, encoder in encoders.items()
    }
    if peer is not None:
        rows_of = _rows(directories[0], encoders[directories[0].name], texts)
        works |= {
            name: _peer_work(peer, rows_of, is_sorted=name == PEER) for name in (PEER, UNSORTED)
        }
    vectors = {name: unit(work()) for name, work in works.items()}
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            start = time.process_time()
            work()
            seconds[name].append(time.process_time() - start)
    return table(vectors, {name: median(found) for name, found in seconds.items()})


def table(vectors: dict[str, np.ndarray], seconds: dict[str, float]) -> str:
    """Returns a row for each engine; cosines are those with the first one's unit vectors."""
    lines = ["| vectors | mean cosine | lowest | seconds |", "|---|---|---|---|"]
    reference = next(iter(vectors.values()))
    for name, found in vectors.items():
        cosines = (found * reference).sum(axis=1)
        lines.append(
            f"| {name} | {cosines.mean():.5f} | {cosines.min():.5f} | {seconds[name]:.3f} |"
        )
    return "\n".join(lines)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Returns vectors `(texts, width)` of length 1."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _rows(
    directory: Path, encoder: OnnxEncoder, texts: Sequence[str]
) -> Callable[[], list[list[int]]]:
    text_ids = open_text_ids(ArtefactFiles(directory), encoder.manifest, "text")
    special_ids = encoder.manifest.special_ids
    return lambda: [encoder_row(ids, None, special_ids)[0] for ids in text_ids.encode(texts)]


def _peer_work(path: Path, rows_of: Callable[[], list[list[int]]], *, is_sorted: bool) -> Work:
    """Opens a peer's file on one thread; sorted, texts of like length are read together."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    taken = {one.name for one in session.get_inputs()}

    def run() -> np.ndarray:
        rows = rows_of()
        order = sorted(range(len(rows)), key=lambda index: len(rows[index]) if is_sorted else 0)
        found: dict[int, np.ndarray] = {}
        for first in range(0, len(order), _BATCH):
            part = order[first : first + _BATCH]
            ids = np.zeros((len(part), max(len(rows[index]) for index in part)), np.int64)
            mask = np.zeros_like(ids)
            for place, index in enumerate(part):
                ids[place, : len(rows[index])] = rows[index]
                mask[place, : len(rows[index])] = 1
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            states = session.run(None, {name: given[name] for name in taken})[0]
            means = (states * mask[..., None]).sum(axis=1) / mask.sum(axis=1)[:, None]
            found.update(zip(part, means, strict=True))
        return np.stack([found[index] for index in range(len(rows))])

    return run
