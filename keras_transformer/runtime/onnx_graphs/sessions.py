"""onnxruntime's sessions of an artefact's graphs, whose threads do not hinder each other."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt
from onnxruntime import InferenceSession, IOBinding, OrtValue, RunOptions, SessionOptions

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.cores import available_cores
from keras_transformer.runtime.onnx_graphs.operators import register_operators
from keras_transformer.runtime.onnx_graphs.outside_weights import outside_tensors
from keras_transformer.runtime.onnx_graphs.providers import CPU, Provider, check_providers, describe
from keras_transformer.runtime.turns import current_turn

# The graphs that run again and again within one translation.
_STEP_GRAPHS = ("decoder", "greedy", "greedy_scores")
# Microseconds for which an idle worker stays awake: between steps; and between products, if the
# next run is of another graph, whose workers need the cores.
_STEP_SPIN, _SPIN = 300, 100
_WITHOUT_OTHERS = RunOptions()
_WITHOUT_OTHERS.only_execute_path_to_fetches = True
_DTYPES = {
    "tensor(bool)": "bool",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
    "tensor(float16)": "float16",
    "tensor(float)": "float32",
}


class Session(InferenceSession):
    """A graph in onnxruntime.

    Args:
        graph: The bytes of its file.
        options: Its options.
        providers: What runs it.
        weights: Those outside the graph; the options may name them, and only refer to them.
    """

    def __init__(
        self,
        graph: bytes,
        options: SessionOptions,
        providers: Sequence[Any],
        weights: Sequence[OrtValue],
    ) -> None:
        self._weights = weights
        super().__init__(graph, options, providers=providers)

    def run(self, *arguments: Any) -> Any:
        """Runs the graph when it is the turn of the call that wants it."""
        turn = current_turn()
        if turn is None:
            return super().run(*arguments)
        with turn.run():
            return super().run(*arguments)

    def outputs(self, names: Sequence[str], inputs: Mapping[str, Any]) -> list[npt.NDArray]:
        """Returns some outputs, for which it computes nothing that only the others need."""
        return self.run(list(names), inputs, _WITHOUT_OTHERS)

    def run_with_iobinding(self, binding: IOBinding, *options: Any) -> None:
        """Does as `run`, with memory that is bound."""
        turn = current_turn()
        if turn is None:
            super().run_with_iobinding(binding, *options)
            return
        with turn.run():
            super().run_with_iobinding(binding, *options)


def open_session(
    manifest: Manifest,
    files: ArtefactFiles,
    name: str,
    threads: int | None = None,
    providers: Sequence[Provider] | None = None,
) -> Session:
    """Opens one graph.

    Args:
        manifest: The artefact's contract.
        files: Its files.
        name: The graph, one of `GRAPHS`.
        threads: Threads of the graph; one for each core that the process may use if None.
        providers: onnxruntime's execution providers, best first: names, or tuples of a name and its
            options; the CPU if None.

    Raises:
        TypeError: `threads` is not an integer.
        ImportError: The graphs need this package's own operators, which are not compiled here,
            cannot be loaded, are of another version or of an earlier revision.
        ValueError: `threads` is below 1, a provider is missing, does not start or cannot run the
            graph, the graph cannot be read, or the names, types or shapes of its inputs or outputs
            differ from the manifest.
    """
    graph = manifest.graphs[name]
    path, content = files.directory / graph.file, files.content(graph)
    options = _options(name, check_threads(threads))
    chosen = check_providers(providers, manifest)
    if manifest.target == "native":
        register_operators(options, manifest.operators_version, manifest.operators_revision)
    try:
        weights = _give_weights(options, manifest, files, content, [name for name, _ in chosen])
        session = Session(content, options, chosen, weights)
    except Exception as error:  # onnxruntime's own errors share no other class.
        if providers is not None:
            raise ValueError(
                f"onnxruntime cannot open {path} with {describe(chosen)}: choose other providers "
                f"or options ({error})."
            ) from error
        raise ValueError(
            f"onnxruntime cannot read {path}, so the file is damaged or meant for another version: "
            f"export the model again ({error})."
        ) from error
    # onnxruntime leaves out a provider that does not start and mentions it only in its log.
    missing = {name for name, _ in chosen} - set(session.get_providers())
    if missing:
        raise ValueError(
            f"{', '.join(sorted(missing))} did not start: check its driver and libraries, or "
            "choose other providers."
        )
    for kind, found, expected in (
        ("inputs", session.get_inputs(), graph.inputs),
        ("outputs", session.get_outputs(), graph.outputs),
    ):
        _check_tensors(path, kind, found, expected)
    return session


def check_threads(threads: int | None) -> int:
    """Returns the number of threads requested, or of cores if None."""
    if threads is None:
        return available_cores()
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise TypeError(f"threads must be an integer or None, got {threads!r}.")
    if threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}.")
    return threads


def _give_weights(
    options: SessionOptions,
    manifest: Manifest,
    files: ArtefactFiles,
    graph: bytes,
    providers: Sequence[str],
) -> list[OrtValue]:
    """Tells a session where in memory the weights lie that its graph has in the artefact's file."""
    names, values = [], []
    for tensor in outside_tensors(graph):
        if tensor.file != manifest.weights.file:
            raise ValueError(
                f"{tensor.name} is in the file {tensor.file!r}, not in {manifest.weights.file!r}."
            )
        names.append(tensor.name)
        values.append(tensor.values(files.weights(manifest.weights)))
    # Of these onnxruntime makes a copy, which what simplifies the graph may read.
    options.add_external_initializers(names, values)
    if set(providers) == {CPU}:
        # These take its place in the end: all sessions read the same memory.
        for name, value in zip(names, values, strict=True):
            options.add_initializer(name, value)
    return values


def _check_tensors(
    path: Path, kind: str, found: Sequence[Any], expected: Sequence[GraphTensor]
) -> None:
    """Compares what onnxruntime found in a graph with its manifest entry."""
    names = [value.name for value in found]
    if names != [tensor.name for tensor in expected]:
        raise ValueError(
            f"{path} has the {kind} {', '.join(names)}, but the manifest names "
            f"{', '.join(tensor.name for tensor in expected)}: export the model again."
        )
    for value, tensor in zip(found, expected, strict=True):
        dtype, shape = _DTYPES.get(value.type, value.type), list(value.shape)
        # If a graph leaves an axis unnamed, any name will do.
        named = len(shape) == len(tensor.shape) and all(
            size == wanted or (size is None and isinstance(wanted, str))
            for size, wanted in zip(shape, tensor.shape, strict=True)
        )
        if dtype != tensor.dtype or not named:
            raise ValueError(
                f"{path} has {value.name} as {dtype} {shape}, but the manifest as {tensor.dtype} "
                f"{list(tensor.shape)}: export the model again."
            )


def _options(name: str, threads: int) -> SessionOptions:
    options = SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # A waiting worker pauses between checks, which spares the core that it shares with another.
    spin = _STEP_SPIN if name in _STEP_GRAPHS else _SPIN
    options.add_session_config_entry("session.intra_op.spin_duration_us", str(spin))
    options.add_session_config_entry("session.intra_op.spin_backoff_max", "16")
    return options
