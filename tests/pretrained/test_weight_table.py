"""Tables of weights: what is read is written again, and what does not fit is named."""

from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.weight_table import (
    NEVER,
    Entry,
    dump_weights,
    linear,
    load_weights,
    norm,
)

RANDOM = np.random.default_rng(0)


def variable(*shape: int) -> Any:
    return keras.Variable(np.zeros(shape, np.float32))


def model_of(*weights: Any) -> Any:
    return SimpleNamespace(weights=list(weights))


def draw(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def test_a_layer_of_pytorch_is_transposed_and_comes_back() -> None:
    layer = keras.layers.Dense(3)
    layer.build((None, 4))
    tensors = {"fc.weight": draw(3, 4), "fc.bias": draw(3)}
    load_weights(layer, linear(layer, "fc"), tensors, origin="file")
    np.testing.assert_array_equal(layer.kernel, tensors["fc.weight"].T)
    for name, array in dump_weights(linear(layer, "fc")).items():
        np.testing.assert_array_equal(array, tensors[name])


def test_packed_weights_are_split_and_joined() -> None:
    parts = [variable(4, 2) for _ in range(3)]
    table = [Entry(one, "qkv", part=place, parts=3) for place, one in enumerate(parts)]
    tensors = {"qkv": draw(4, 6)}
    load_weights(model_of(*parts), table, tensors, origin="file")
    np.testing.assert_array_equal(parts[1], tensors["qkv"][:, 2:4])
    np.testing.assert_array_equal(dump_weights(table)["qkv"], tensors["qkv"])


def test_rows_that_the_file_lacks_are_filled_and_left_out_again() -> None:
    matrix, bias = variable(5, 3), variable(5)
    table = [Entry(matrix, "Wemb", fill=0.0), Entry(bias, "b", fill=NEVER, lead=1)]
    tensors = {"Wemb": draw(4, 3), "b": draw(1, 4)}
    load_weights(model_of(matrix, bias), table, tensors, origin="file")
    np.testing.assert_array_equal(matrix[4], np.zeros(3))
    assert float(bias[4]) == NEVER
    for name, array in dump_weights(table, rows=4).items():
        np.testing.assert_array_equal(array, tensors[name])


def test_factors_are_undone() -> None:
    layer = keras.layers.LayerNormalization()
    layer.build((None, 4))
    tensors = {"n.weight": draw(4), "n.bias": draw(4)}
    load_weights(layer, norm(layer, "n", factor=0.5), tensors, origin="file")
    np.testing.assert_array_equal(layer.gamma, tensors["n.weight"] / 2)
    for name, array in dump_weights(norm(layer, "n", factor=0.5)).items():
        np.testing.assert_array_equal(array, tensors[name])


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({}, "file lacks the tensor w: the file is not whole"),
        ({"w": draw(2, 2)}, r"w gives a weight of shape \(2, 2\), but the config needs \(2, 3\)"),
        ({"w": draw(2, 3) * np.nan}, "w holds NaN or infinite values: the training diverged"),
        ({"w": draw(2, 3), "extra": draw(1)}, "holds 1 tensors that the model .* such as extra"),
    ],
)
def test_what_does_not_fit_is_named(tensors: dict[str, np.ndarray], message: str) -> None:
    weight = variable(2, 3)
    with pytest.raises(ImportRefusedError, match=message):
        load_weights(model_of(weight), [Entry(weight, "w")], tensors, origin="file")


def test_a_weight_without_an_entry_is_an_error_of_ours() -> None:
    with pytest.raises(RuntimeError, match="no entry"):
        load_weights(model_of(variable(1)), [], {}, origin="file")
