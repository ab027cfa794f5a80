"""Saved models load after a bare `import keras_transformer`, before or after `import keras`."""

import ast
import re
from pathlib import Path

import keras
import numpy as np
import pytest
from fresh_process import python

from keras_transformer import (
    Perplexity,
    SmoothedCrossEntropy,
    TokenAccuracy,
    TransformerConfig,
    WarmupSchedule,
    build_transformer,
)
from keras_transformer.serializable import HOMES, PACKAGE

SOURCES = Path(__file__).resolve().parents[1] / "keras_transformer"
INPUTS = {"source_ids": np.array([[5, 6, 3]]), "target_ids": np.array([[2, 7]])}
# What a program may have imported by the time it loads a model.
IMPORTS = {
    "keras before": "import keras, keras_transformer",
    "keras after, looked for first": "import importlib.util, keras_transformer\n"
    "importlib.util.find_spec('keras'); import keras",
    "keras by a loss": "import keras_transformer.training.loss.label_smoothing, keras",
}
# A bare `import keras_transformer` before `import keras` is in `models/test_every_family.py`.
RARE = tuple(IMPORTS)
LOAD = """
import sys
import numpy as np
model = keras.models.load_model(sys.argv[1])
inputs = {"source_ids": np.array([[5, 6, 3]]), "target_ids": np.array([[2, 7]])}
assert type(model) is keras_transformer.models.transformer.Transformer
assert type(model.loss) is keras_transformer.training.loss.label_smoothing.SmoothedCrossEntropy
np.save(sys.argv[2], model(inputs))
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> tuple[Path, np.ndarray]:
    """A compiled model's file, and what it computes."""
    layers = {"num_encoder_layers": 1, "num_decoder_layers": 1, "num_heads": 2}
    config = TransformerConfig(source_vocab_size=20, model_dim=8, feed_forward_dim=16, **layers)
    model = build_transformer(config)
    model.compile(
        keras.optimizers.Adam(WarmupSchedule(0.004, 10)),
        loss=SmoothedCrossEntropy(),
        metrics=[TokenAccuracy(), Perplexity()],
    )
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    model.save(path)
    return path, np.asarray(model(INPUTS))


@pytest.mark.parametrize(
    "imports",
    [
        pytest.param(code, id=name, marks=pytest.mark.exhaustive if name in RARE else ())
        for name, code in IMPORTS.items()
    ],
)
def test_a_saved_model_loads_after_any_import(saved, tmp_path, imports: str) -> None:
    path, expected = saved
    logits = tmp_path / "logits.npy"
    python("-c", f"{imports}\n{LOAD}", path, logits)
    np.testing.assert_array_equal(np.load(logits), expected)


def test_every_registered_class_is_listed() -> None:
    found = {}
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            decorators = map(ast.unparse, getattr(node, "decorator_list", ()))
            if any(re.search("register_keras_serializable", text) for text in decorators):
                home = path.relative_to(SOURCES).with_suffix("").parts
                found[node.name] = ".".join(home)
    assert found == HOMES
    assert PACKAGE == SOURCES.name
