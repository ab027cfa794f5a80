"""Tensors of KServe's JSON are arrays, flat or nested, and arrays are tensors."""

import json
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from keras_transformer.artefact.signatures import Signature, TensorSpec
from keras_transformer.serving.errors import ServingError
from keras_transformer.serving.http.json_tensors import read_inputs
from keras_transformer.serving.http.kserve.tensors import read_infer, write_tensors

IDS = Signature("ids", (TensorSpec("ids", "int32", (None, None)),), ())


def read(**tensor: Any) -> Any:
    tensor = {"name": "ids", "datatype": "INT32", "shape": [1, 2], "data": [1, 2], **tensor}
    asked = read_infer({"inputs": [tensor]})
    return read_inputs(asked.columns(IDS), IDS)["ids"]


@given(npst.arrays(np.int32, npst.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=4)))
def test_flat_and_nested_values_are_the_same_array(array: Any) -> None:
    shape = list(array.shape)
    for data in (array.ravel().tolist(), array.tolist()):
        found = read(datatype="INT64", shape=shape, data=data)
        # Of no rows nobody knows the length.
        assert np.array_equal(found, array if len(array) else array[:, :0])


@given(
    st.sampled_from(["int32", "float32", "bool", "string"]),
    npst.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3),
)
def test_what_is_written_is_the_array(dtype: Any, shape: tuple[int, ...]) -> None:
    numbers = np.arange(prod(shape)).reshape(shape)
    texts = np.array([f'"é{place}'.encode() for place in range(prod(shape))], object)
    array = texts.reshape(shape) if dtype == "string" else numbers.astype(dtype)
    [found] = json.loads(write_tensors({"a": array}, [TensorSpec("a", dtype, (None,))]))
    wanted = [text.decode() for text in texts] if dtype == "string" else array.ravel().tolist()
    assert (found["shape"], found["data"]) == (list(shape), wanted)


def test_bytes_that_are_no_text_are_replaced() -> None:
    [found] = json.loads(
        write_tensors({"a": np.array([b"\xff"], object)}, [TensorSpec("a", "string", (None,))])
    )
    assert found["data"] == ["\N{REPLACEMENT CHARACTER}"] and found["datatype"] == "BYTES"


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        ({"shape": [3, 2]}, "ids has the shape [3, 2], and 2 values"),
        ({"shape": [10**18, 0], "data": []}, "without a value: send at most 4096"),
        ({"shape": [-1, 2]}, "must have a shape, a list of sizes"),
        ({"shape": [True, 2]}, "must have a shape, a list of sizes"),
        ({"shape": [2]}, "ids must be a list in 2 levels"),
        ({"data": [1, [2]]}, "nested evenly, or flat"),
        ({"data": "12"}, "data, a list of values"),
        ({"data": [1, 2**40]}, "int32 values, got 1099511627776"),
        ({"datatype": "FP32"}, "datatype of ids must be INT8 or"),
        ({"name": "other"}, "'inputs' must have ids, got other"),
        ({"parameters": {"binary_data_size": 8}}, "ids is sent in binary"),
        ({"parameters": {"more": 8}}, "unknown field 'more'"),
        ({"datatype": None}, "the field 'datatype' is missing"),
    ],
)
def test_what_fits_no_input_is_refused(tensor: dict[str, Any], message: str) -> None:
    with pytest.raises(ServingError) as caught:
        read(**tensor)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "the field 'inputs' is missing"),
        ({"inputs": [1]}, "inputs must be a list of objects"),
        ({"inputs": [{"name": "a"}] * 2}, "the input 'a' is given twice"),
        ({"inputs": [], "id": 7}, "id must be a string"),
        ({"inputs": [], "parameters": {"signature": "score"}}, "unknown field 'signature'"),
        ({"inputs": [], "instances": []}, "unknown field 'instances'"),
    ],
)
def test_what_is_no_request_is_refused(body: dict[str, Any], message: str) -> None:
    with pytest.raises(ServingError, match=message):
        read_infer(body)
