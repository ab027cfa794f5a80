"""Whatever inputs an exported graph is given, it ends with ids that exist or with onnxruntime's
error: it runs in a process of its own, whose death is a failure."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.artefact.entries import Graph, GraphTensor
from keras_transformer.artefact.manifest import GRAPHS
from keras_transformer.export import Manifest, export_onnx
from keras_transformer.export.onnx.quantize import int8

Inputs = dict[str, np.ndarray]
# Sanitizers see what would else pass unnoticed: more is tried where they look.
SANITIZED = "KERAS_TRANSFORMER_SANITIZED_OPERATORS" in os.environ
REFUSED = ("InvalidArgument", "RuntimeException", "Fail")
EXTREMES = [-(2**31), -1000, -1, 0, 1, 2, 1000, 2**31 - 1]
FLOATS = [float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 1e-40]
# What these inputs hold at first; others hold ones.
FITTING = {"step": 2, "beam_size": 2, "num_candidates": 4, "cache_beams": 0, "most_steps": 2,
           "last_special": -1}  # fmt: skip
SIZES = {"batch": 2, "beams": 2, "rows": 4, "source_length": 3, "target_length": 4,
         "length": 4, "scored": 2, "cache_length": 5}  # fmt: skip


class Runner:
    """Runs graphs in another process, and starts it anew when it died."""

    def __init__(self, library: Path) -> None:
        self._command = [sys.executable, str(Path(__file__).with_name("graph_runner.py"))]
        self._command.append(str(library))
        self._process: Any = None

    def __call__(self, graph: Path, inputs: Inputs) -> Any:
        """Returns outputs by name, or what onnxruntime said."""
        if self._process is None:
            self._errors = TemporaryFile()
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        try:
            pickle.dump((graph, inputs), self._process.stdin)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            self._errors.seek(0)
            said, code = self._errors.read().decode(errors="replace"), self._process.wait()
            self.close()
            raise AssertionError(f"died with {code} of {told(inputs)}\n{said[-4000:]}") from None

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()
            self._errors.close()
            self._process = None


def told(inputs: Inputs) -> str:
    """Inputs as they are typed in, so that a failure can be tried by hand."""
    with np.printoptions(threshold=sys.maxsize):
        return "\n".join(f"{name} {value.shape}: {value!r}" for name, value in inputs.items())


@pytest.fixture(scope="module")
def runner(compiled: Path) -> Iterator[Runner]:
    runner = Runner(compiled)
    yield runner
    runner.close()


@pytest.fixture(scope="module", params=["float32", "int8", "large int8"])
def artefact(
    request: pytest.FixtureRequest,
    make_model: Callable[..., Any],
    tokenizer: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    quantize = None if request.param == "float32" else "int8"
    path = tmp_path_factory.mktemp("hostile") / request.param
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "large int8":
            # A step is a single operator if the vocabulary is large enough to be stored in bytes.
            patch.setattr(int8, "_FEW_WEIGHTS", 0)
        return export_onnx(make_model(), tokenizer, path, target="native", quantize=quantize)


def fitting(spec: GraphTensor, sizes: dict[str, int] = SIZES) -> np.ndarray:
    shape = [size if isinstance(size, int) else sizes[size] for size in spec.shape]
    if spec.name.startswith(("cross", "cache_key", "cache_value")):
        return np.linspace(-1, 1, int(np.prod(shape)), dtype=spec.dtype).reshape(shape)
    return np.full(shape, FITTING.get(spec.name, 1), spec.dtype)


def every_input(artefact: Path, described: Graph) -> list[GraphTensor]:
    """A graph's inputs, those with defaults as well."""
    graph = onnx.load(artefact / described.file, load_external_data=False).graph
    defaults = {tensor.name: tensor for tensor in graph.initializer}
    optional = [defaults[value.name] for value in graph.input if value.name in defaults]
    specs = [GraphTensor(name=one.name, dtype="int32", shape=tuple(one.dims)) for one in optional]
    return [*described.inputs, *specs]


@st.composite
def hostile(draw: st.DrawFn, specs: list[GraphTensor]) -> Inputs:
    """Inputs that fit but for the size of an axis wherever it is, or for some shapes and values."""
    axes = sorted({axis for spec in specs for axis in spec.shape if isinstance(axis, str)})
    other = draw(st.sampled_from([{}, {}, *({axis: n} for axis in axes for n in (0, 1, 7))]))
    inputs = {spec.name: fitting(spec, {**SIZES, **other}) for spec in specs}
    # Numbers that say where to look are few beside those that are computed with.
    deciding = sorted(name for name, value in inputs.items() if value.dtype != np.float32)
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(deciding) | st.sampled_from(sorted(inputs)))
        value = inputs[name]
        if draw(st.integers(0, 2)) == 0:
            inputs[name] = np.ones(draw(resized(value.shape)), value.dtype)
        elif value.size:
            bad = draw(st.sampled_from(EXTREMES if name in deciding else FLOATS))
            spot = draw(st.integers(0, value.size - 1) | st.just(slice(None)))
            value.flat[spot] = bad
    return inputs


@st.composite
def resized(draw: st.DrawFn, shape: tuple[int, ...]) -> list[int]:
    """A shape with other sizes, one axis more or one axis less."""
    sizes = [draw(st.sampled_from([size] * 3 + [0, 1, size + 1, 2 * size])) for size in shape]
    return draw(st.sampled_from([sizes] * 4 + [[*sizes, 1], [*sizes, 0], sizes[:-1]]))


def check(found: Any, inputs: Inputs, vocabulary: int) -> None:
    if isinstance(found, str):
        assert found.startswith(REFUSED), found
        return
    for name in {"candidate_ids", "next_ids"} & found.keys():
        exists = (found[name] >= 0) & (found[name] < vocabulary)
        if "ends" in inputs:
            # What fills up the candidates of all steps but the last.
            exists |= (found[name] == -1) & np.isneginf(found["candidate_values"])
        assert exists.all(), told(inputs)
    if "candidate_beams" in found:
        beams = found["candidate_beams"]
        assert ((beams >= 0) & (beams < inputs["totals"].shape[1])).all(), told(inputs)


@pytest.mark.parametrize("graph", GRAPHS)
@given(data=st.data())
@settings(max_examples=200 if SANITIZED else 40)
def test_hostile_inputs_give_what_exists_or_an_error(
    runner: Runner, artefact: Path, graph: str, data: st.DataObject
) -> None:
    manifest = Manifest.read(artefact)
    inputs = data.draw(hostile(every_input(artefact, manifest.graphs[graph])))
    found = runner(artefact / manifest.graphs[graph].file, inputs)
    check(found, inputs, manifest.config["target_vocab_size"])


@pytest.mark.parametrize("graph", GRAPHS)
def test_what_is_made_hostile_fits_at_first(runner: Runner, artefact: Path, graph: str) -> None:
    described = Manifest.read(artefact).graphs[graph]
    specs = every_input(artefact, described)
    found = runner(artefact / described.file, {spec.name: fitting(spec) for spec in specs})
    for output in found.values():
        assert np.isfinite(output).all()


@pytest.mark.parametrize("artefact", ["float32"], indirect=True)
def test_a_death_is_a_failure_and_the_next_graph_runs(runner: Runner, artefact: Path) -> None:
    with pytest.raises(AssertionError, match=r"died with 1 of step \(1,\): array\(\[7\]\)"):
        runner(artefact / "absent.onnx", {"step": np.array([7])})
    described = Manifest.read(artefact).graphs["encoder"]
    assert runner(artefact / described.file, {s.name: fitting(s) for s in described.inputs})
