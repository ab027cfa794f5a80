"""SavedModels of small models, each written once and loaded in a session, as TensorFlow Serving
does; beside each the Keras translator and the onnxruntime one with the same search.
"""

import dataclasses
import json
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

BEAM = {"beam_size": 3, "num_hypotheses": 3, "max_length": 30}
# Long enough for caches that grow on the way.
GREEDY = {"max_length": 40, "max_length_ratio": 2.5}


@dataclasses.dataclass(frozen=True)
class Served:
    """A SavedModel in a session, and what it was made of."""

    path: Path
    model: Any
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    search: dict[str, Any]
    run: Callable[..., dict[str, np.ndarray]]
    """`run(signature, **inputs)` as numpy arrays; lists of strings become bytes."""


@pytest.fixture(scope="session")
def open_session() -> Iterator[Callable[[Path], Callable[..., dict[str, np.ndarray]]]]:
    """`open_session(path)` loads a SavedModel and returns `Served.run`."""
    import tensorflow as tf

    # A graph is optimized anew for each set of outputs, which takes longer than all of its answers.
    # The export has compared those of the optimized graph, which servers and serve.c run.
    unoptimized = tf.compat.v1.ConfigProto()
    unoptimized.graph_options.rewrite_options.disable_meta_optimizer = True
    with ExitStack() as stack:

        def load(path: Path) -> Callable[..., dict[str, np.ndarray]]:
            # Not entered: its graph would take the place of eager execution.
            session = tf.compat.v1.Session(graph=tf.Graph(), config=unoptimized)
            stack.callback(session.close)
            with session.graph.as_default():
                loaded = tf.compat.v1.saved_model.load(session, ["serve"], str(path))

            def run(signature: str, **inputs: Any) -> dict[str, np.ndarray]:
                spec = loaded.signature_def[signature]
                assert set(inputs) == set(spec.inputs)
                fed = {spec.inputs[name].name: _array(value) for name, value in inputs.items()}
                return session.run({name: one.name for name, one in spec.outputs.items()}, fed)

            return run

        yield load


def _array(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(one, str | bytes) for one in value):
        return np.array([one.encode() if isinstance(one, str) else one for one in value], object)
    return value


@pytest.fixture(scope="session")
def many_texts(texts: list[str]) -> list[str]:
    """The texts, mixtures of their words, unknown characters, odd spaces, and nothing at all."""
    words = " ".join(texts).split()
    chance = random.Random(0)
    mixed = [" ".join(chance.choices(words, k=chance.randint(1, 9))) for _ in range(24)]
    odd = ["", "   ", "ALL CAPITALS", "日本語 🙂", "a  b\tc", "\x00", "the\x00dog", "é" * 20]
    return [*texts, *mixed, *odd]


@pytest.fixture(scope="session")
def text_served(
    learned_model: Any,
    tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
    open_session: Callable[[Path], Any],
) -> Served:
    """One vocabulary, post-norm, beam search, signatures of text."""
    from keras_transformer.export import export_saved_model

    base = tmp_path_factory.mktemp("saved") / "demo"
    path = export_saved_model(
        learned_model, base, tokenizer=tokenizer, max_source_length=30, **BEAM
    )
    return Served(path, learned_model, tokenizer, tokenizer, BEAM, open_session(path))


@pytest.fixture(scope="session")
def other_served(
    make_model: Callable[..., Any],
    tokenizer: Tokenizer,
    texts: list[str],
    tmp_path_factory: pytest.TempPathFactory,
    open_session: Callable[[Path], Any],
) -> Served:
    """Two vocabularies, pre-norm, learned positions, greedy search, signatures of text."""
    from keras_transformer.export import export_saved_model

    target = train_tokenizer(["la casa es roja y el perro corre", *texts], 50, "bpe")
    model = make_model(
        target_vocab_size=50,
        num_decoder_layers=1,
        share_embeddings="none",
        norm="pre",
        positions="learned",
        max_positions=44,
    )
    base = tmp_path_factory.mktemp("saved") / "other"
    path = export_saved_model(
        model, base, tokenizer=tokenizer, target_tokenizer=target, version=3, **GREEDY
    )
    return Served(path, model, tokenizer, target, GREEDY, open_session(path))


@pytest.fixture(scope="session")
def ids_served(
    learned_model: Any,
    tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
    open_session: Callable[[Path], Any],
) -> Served:
    """As `text_served`, but from ids to ids."""
    from keras_transformer.export import export_saved_model

    base = tmp_path_factory.mktemp("saved") / "ids"
    path = export_saved_model(
        learned_model, base, tokenizer=tokenizer, signatures="ids", max_source_length=30, **BEAM
    )
    return Served(path, learned_model, tokenizer, tokenizer, BEAM, open_session(path))


@pytest.fixture(params=["text_served", pytest.param("other_served", marks=pytest.mark.exhaustive)])
def served(request: pytest.FixtureRequest) -> Served:
    """Each of the models that take text."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def translators(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Served], tuple[Any, Any]]:
    """`translators(served)`: the Keras and the onnxruntime translator of a SavedModel's model.

    Nothing goes around their model either.
    """
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.export import OnnxTranslator, export_onnx

    made: dict[Path, tuple[Any, Any]] = {}

    def get(served: Served) -> tuple[Any, Any]:
        if served.path not in made:
            source, target = served.source_tokenizer, served.target_tokenizer
            artefact = export_onnx(
                served.model,
                source,
                tmp_path_factory.mktemp("onnx") / "artefact",
                target_tokenizer=None if target is source else target,
            )
            # What a graph does not do.
            options: Any = {"letterless": "translate"}
            made[served.path] = (
                Translator(served.model, source, target, **options),
                OnnxTranslator(artefact, threads=1, **options),
            )
        return made[served.path]

    return get


@pytest.fixture(scope="session")
def pad() -> Callable[[list[list[int]]], np.ndarray]:
    """`pad(rows)` as `translate_ids` takes them: int32 `(rows, longest)`, 0 behind a row's end."""

    def make(rows: list[list[int]]) -> np.ndarray:
        ids = np.zeros((len(rows), max(map(len, rows), default=0)), np.int32)
        for line, row in zip(ids, rows, strict=True):
            line[: len(row)] = row
        return ids

    return make


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C program serve.c, built against TensorFlow's wheel."""
    import tensorflow as tf

    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("the C program needs a C compiler: none of cc, gcc and clang is installed")
    source, library = Path(__file__).with_name("serve.c"), tf.sysconfig.get_lib()
    built = tmp_path_factory.mktemp("c") / "serve"
    warnings = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror"]
    headers = ["-isystem", tf.sysconfig.get_include()]
    libraries = [f"-L{library}", "-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"]
    # It reads a gigabyte of symbols in a fifth of the time that the default linker takes.
    linker = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []
    command = [compiler, *warnings, *headers, str(source), "-o", str(built), *linker, *libraries]
    subprocess.run([*command, f"-Wl,-rpath,{library}"], check=True)
    return built


@pytest.fixture
def serve(program: Path) -> Callable[..., list[str]]:
    """`serve(path, signature, input, output, rows)` runs the C program; returns its lines."""

    def run(path: Path, signature: str, given: str, wanted: str, rows: list[str]) -> list[str]:
        from tensorflow.core.protobuf import saved_model_pb2

        saved = saved_model_pb2.SavedModel()
        saved.ParseFromString((path / "saved_model.pb").read_bytes())
        spec = saved.meta_graphs[0].signature_def[signature]
        operators = text_operators() if holds_text_operators(path) else "-"
        tensors = [spec.inputs[given].name, spec.outputs[wanted].name]
        found = subprocess.run(
            [program, path, operators, *tensors],
            input="".join(f"{row}\n" for row in rows),
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stderr
        return found.stdout.splitlines()

    return run


def text_operators() -> str:
    """The library in which tensorflow-text's wheel holds its SentencePiece operators."""
    import tensorflow_text

    folder = Path(tensorflow_text.__file__).parent / "python" / "ops"
    return str(folder / "_sentencepiece_tokenizer.so")


def holds_text_operators(path: Path) -> bool:
    """Tells whether the graph needs tensorflow-text."""
    described = json.loads((path / "assets.extra" / "export.json").read_text(encoding="utf-8"))
    return bool(described["operators_outside_tensorflow"])
