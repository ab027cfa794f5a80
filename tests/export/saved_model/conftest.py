"""SavedModels of small models, each written once and loaded in a session, as TensorFlow Serving
does; beside each the Keras translator and the onnxruntime one with the same search.
"""

import dataclasses
import random
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

    with ExitStack() as stack:

        def load(path: Path) -> Callable[..., dict[str, np.ndarray]]:
            # Not entered: its graph would take the place of eager execution.
            session = tf.compat.v1.Session(graph=tf.Graph())
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


@pytest.fixture(params=["text_served", "other_served"])
def served(request: pytest.FixtureRequest) -> Served:
    """Each of the models that take text."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def translators(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Served], tuple[Any, Any]]:
    """`translators(served)`: the Keras and the onnxruntime translator of a SavedModel's model."""
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
            keras_side = Translator(served.model, source, target)
            made[served.path] = keras_side, OnnxTranslator(artefact, threads=1)
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
