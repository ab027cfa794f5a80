"""Runs graphs in a process of its own, which may die of one: `python graph_runner.py LIBRARY`.

Reads pickled pairs of a graph's path and its inputs, and writes outputs by name or what onnxruntime
raised.
"""

import pickle
import signal
import sys
from pathlib import Path
from typing import Any

import onnxruntime as ort

# Seconds after which a run counts as one that never ends.
LIMIT = 60


def session(path: Path, library: str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 2
    # Memory of onnxruntime's arena is all its own: nothing beyond a tensor would be noticed.
    options.enable_cpu_mem_arena = False
    options.register_custom_ops_library(library)
    return ort.InferenceSession(str(path), options)


def run(opened: ort.InferenceSession, inputs: dict[str, Any]) -> Any:
    signal.alarm(LIMIT)
    try:
        names = [output.name for output in opened.get_outputs()]
        return dict(zip(names, opened.run(names, inputs), strict=True))
    except Exception as error:  # onnxruntime's own errors share no other class.
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def main(library: str) -> None:
    sessions: dict[Path, ort.InferenceSession] = {}
    while True:
        try:
            path, inputs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        if path not in sessions:
            sessions[path] = session(path, library)
        pickle.dump(run(sessions[path], inputs), sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
