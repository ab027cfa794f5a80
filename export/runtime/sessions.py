"""Opens an artefact's graphs in onnxruntime, with threads that do not get in each other's way: a
directory and its manifest come in, sessions leave.
"""

import os
from pathlib import Path

from onnxruntime import InferenceSession as Session
from onnxruntime import SessionOptions

from ..manifest import Manifest


def open_session(
    manifest: Manifest, directory: Path, name: str, threads: int | None = None
) -> Session:
    """Opens one graph on the CPU.

    Args:
        manifest: The artefact's contract.
        directory: Where its files are.
        name: "encoder", "decoder" or "scorer".
        threads: Threads of the graph; as many as the process may use cores where None.

    Raises:
        TypeError: `threads` is no integer.
        ValueError: `threads` is below 1, the graph cannot be read, or its inputs or outputs are not
            the manifest's.
    """
    graph = manifest.graphs[name]
    path = directory / graph.file
    try:
        session = Session(
            str(path), _options(check_threads(threads)), providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's own errors share no other class.
        raise ValueError(
            f"onnxruntime cannot read {path}, so the file is damaged or meant for another version: "
            f"export the model again ({error})."
        ) from error
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


def check_threads(threads: int | None) -> int:
    """Returns the number of threads asked for, or of cores where None."""
    if threads is None:
        return available_cores()
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise TypeError(f"threads must be an integer or None, got {threads!r}.")
    if threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}.")
    return threads


def available_cores() -> int:
    """Returns how many cores this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _options(threads: int) -> SessionOptions:
    options = SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Idle workers of one graph would spin on the cores that the other graph needs. This is as fast
    # as one pool for both, which would forbid the rest of the process every ordinary session.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return options
