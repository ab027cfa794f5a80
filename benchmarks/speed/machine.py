"""What the machine can do: bytes read and multiply-adds done in a second, measured in a process of
its own (`python -m speed.machine`) with a thread for every core.
"""

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from .artefacts import environment

_SECONDS = 0.5
_ROWS, _WIDTH = 512, 2048


def measure_machine(sizes: Sequence[int]) -> dict[str, dict[str, float]]:
    """Measures the machine.

    Args:
        sizes: Bytes of the data to be read over and over: what fits in a cache is read faster.

    Returns:
        "bytes": bytes a second for each size, as text; "multiply_adds": multiply-adds a second for
        "float32" and "int8".
    """
    command = [sys.executable, "-m", "speed.machine", *map(str, sizes)]
    # Each of our threads calls BLAS, which must not start its own.
    quiet = {**environment(), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=quiet, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def describe_machine(packages: Sequence[str]) -> dict[str, Any]:
    """Returns what figures depend on: processor, cores, Python and versions of packages."""
    return {
        "processor": processor_name(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
    }


def processor_name() -> str:
    """Returns what the processor calls itself, where the system tells."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def _read_rate(size: int, threads: ThreadPoolExecutor, count: int) -> float:
    """Bytes a second of dot products of each thread's share with itself."""
    shares = np.array_split(np.ones(max(size // 4, count), np.float32), count)
    passes = max(1, (1 << 24) // size)

    def read(share: np.ndarray) -> None:
        for _ in range(passes):
            np.dot(share, share)

    return passes * size / _fastest(lambda: list(threads.map(read, shares)))


def _matrix_rate(dtype: str, threads: int) -> float:
    """Multiply-adds a second of a matrix product in onnxruntime, the right matrix constant."""
    session, inputs = _matrix_product(dtype, threads)
    return _ROWS * _WIDTH * _WIDTH / _fastest(lambda: session.run(None, inputs))


def _matrix_product(dtype: str, threads: int) -> tuple[Any, dict[str, np.ndarray]]:
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)
    if dtype == "float32":
        operator, left, right, result = "MatMul", "FLOAT", np.float32, "FLOAT"
    else:
        operator, left, right, result = "MatMulInteger", "UINT8", np.int8, "INT32"
    weights = random.integers(-127, 128, (_WIDTH, _WIDTH)).astype(right)
    states = random.integers(0, 128, (_ROWS, _WIDTH))
    states = states.astype(np.float32 if left == "FLOAT" else np.uint8)
    kinds = (getattr(TensorProto, left), getattr(TensorProto, result))
    graph = helper.make_graph(
        [helper.make_node(operator, ["states", "weights"], ["product"])],
        "product",
        [helper.make_tensor_value_info("states", kinds[0], states.shape)],
        [helper.make_tensor_value_info("product", kinds[1], states.shape)],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session, {"states": states}


def _fastest(work: Callable[[], object]) -> float:
    """Returns the fewest seconds of one call among many: a limit has no bad days."""
    work()
    seconds, end = [], time.perf_counter() + _SECONDS
    while not seconds or time.perf_counter() < end:
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _main() -> None:
    count = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(count) as threads:
        rates = {size: _read_rate(int(size), threads, count) for size in sys.argv[1:]}
    products = {dtype: _matrix_rate(dtype, count) for dtype in ("float32", "int8")}
    print(json.dumps({"bytes": rates, "multiply_adds": products}))


if __name__ == "__main__":
    _main()
