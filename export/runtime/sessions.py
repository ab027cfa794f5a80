"""Opens an artefact's two graphs in onnxruntime, with threads that do not get in each other's way;
a directory and its manifest come in, two sessions leave.
"""

import os
from pathlib import Path

from onnxruntime import InferenceSession as Session
from onnxruntime import SessionOptions

from ..manifest import Graph, Manifest


def open_sessions(
    manifest: Manifest, directory: Path, threads: int | None = None
) -> tuple[Session, Session]:
    """Opens the encoder and the decoder on the CPU.

    Args:
        manifest: The artefact's contract.
        directory: Where its files are.
        threads: Threads of each graph; as many as the process may use cores where None.

    Returns:
        The encoder's session and the decoder's.

    Raises:
        TypeError: `threads` is no integer.
        ValueError: `threads` is below 1, or a graph's inputs or outputs are not the manifest's.
    """
    if threads is None:
        threads = available_cores()
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise TypeError(f"threads must be an integer or None, got {threads!r}.")
    if threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}.")
    encoder, decoder = (
        _open(manifest.graphs[name], directory, threads) for name in ("encoder", "decoder")
    )
    return encoder, decoder


def available_cores() -> int:
    """Returns how many cores this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _open(graph: Graph, directory: Path, threads: int) -> Session:
    options = SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Idle workers of one graph would spin on the cores that the other graph needs. This is as fast
    # as one pool for both, which would forbid the rest of the process every ordinary session.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    path = str(directory / graph.file)
    session = Session(path, options, providers=["CPUExecutionProvider"])
    for kind, found, expected in (
        ("inputs", session.get_inputs(), graph.inputs),
        ("outputs", session.get_outputs(), graph.outputs),
    ):
        names = [value.name for value in found]
        if names != [tensor.name for tensor in expected]:
            raise ValueError(
                f"{path} has the {kind} {', '.join(names)}, but the manifest names "
                f"{', '.join(tensor.name for tensor in expected)}: export the model again."
            )
    return session
