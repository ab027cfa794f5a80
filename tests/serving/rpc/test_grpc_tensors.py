"""TensorProtos are read as TensorFlow reads them, and TensorFlow reads what is written."""

import re
import struct
from typing import Any

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies as st
from tensorflow.core.framework.tensor_pb2 import TensorProto

from keras_transformer.artefact.search_signatures import AnswerSizes, server_signatures
from keras_transformer.artefact.signatures import Signature, TensorSpec
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.rpc.grpc_tensors import to_array, to_proto, to_signature_def

LIMIT = 1000
DTYPES = {"string": 7, "int32": 3, "float32": 1, "bool": 10}  # As types.proto numbers them.
ARRAYS = [
    np.array([], object),
    np.array([b"", b"a", "ñ".encode(), b"\xff\x00"], object),
    np.array([[b"a"], [b"b"]], object),
    np.array([-1, 0, 2**31 - 1], np.int32),
    np.zeros((2, 0), np.int32),
    np.array([[[0.5], [-3e38]]], np.float32),
    np.array([[True], [False]]),
]


def tensor(values: Any, dtype: Any, shape: list[int] | None = None) -> TensorProto:
    return tf.make_tensor_proto(values, dtype=dtype, shape=shape)


def assert_refused(proto: TensorProto, message: str) -> None:
    with pytest.raises(ServingError, match=re.escape(message)) as error:
        to_array(proto, "text", LIMIT)
    assert error.value.code is Code.INVALID_ARGUMENT
    assert 'Input "text"' in error.value.message


def encode_strings(texts: list[bytes]) -> bytes:
    """TensorFlow's EncodeStringList."""
    lengths = b""
    for text in texts:
        length = len(text)
        while length >= 0x80:
            lengths += bytes([length & 0x7F | 0x80])
            length >>= 7
        lengths += bytes([length])
    return lengths + b"".join(texts)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_what_is_written_is_read_back_by_us_and_by_tensorflow(array: np.ndarray) -> None:
    proto = to_proto(array)
    for back in (to_array(proto, "text", LIMIT), tf.make_ndarray(proto)):
        assert back.dtype == array.dtype
        assert back.shape == array.shape
        assert back.tolist() == array.tolist()


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_what_tensorflow_writes_is_read(array: np.ndarray) -> None:
    proto = tf.make_tensor_proto(array)
    assert to_array(proto, "text", LIMIT).tolist() == array.tolist()


def test_many_values_are_written_as_few_are() -> None:
    array = np.arange(100_000, dtype=np.int32).reshape(-1, 4)
    np.testing.assert_array_equal(tf.make_ndarray(to_proto(array)), array)


def test_outputs_are_typed_values_as_official_clients_read_them() -> None:
    proto = to_proto(np.array([0.5, 2], np.float32))
    assert list(proto.float_val) == [0.5, 2]
    assert proto.tensor_content == b""


@pytest.mark.parametrize(
    ("dtype", "content", "expected"),
    [
        (tf.int32, struct.pack("<2i", -1, 7), [-1, 7]),
        (tf.float32, struct.pack("<2f", 0.5, -1), [0.5, -1.0]),
        (tf.bool, b"\x02\x00", [True, False]),
        (tf.string, encode_strings([b"x" * 300, b""]), [b"x" * 300, b""]),
    ],
)
def test_tensor_content_is_read_as_tensorflow_reads_it(
    dtype: tf.DType, content: bytes, expected: list[Any]
) -> None:
    proto = TensorProto(dtype=dtype.as_datatype_enum, tensor_content=content)
    proto.tensor_shape.dim.add(size=2)
    assert to_array(proto, "text", LIMIT).tolist() == expected
    if dtype != tf.bool:  # There TensorFlow refuses bytes that are neither 0 nor 1.
        parsed = tf.io.parse_tensor(proto.SerializeToString(), dtype)
        assert parsed.numpy().tolist() == expected


@pytest.mark.parametrize(
    ("proto", "expected"),
    [
        (tensor(7, tf.int32, [3]), [7, 7, 7]),
        (tensor([1.0, 2.0], tf.float32, [4]), [1, 2, 2, 2]),
        (tensor(["a", "b"], tf.string, [3]), [b"a", b"b", b"b"]),
    ],
)
def test_the_last_value_stands_for_the_missing_ones(proto: TensorProto, expected: list) -> None:
    assert to_array(proto, "text", LIMIT).tolist() == expected


def test_without_values_a_tensor_holds_defaults() -> None:
    proto = TensorProto(dtype=tf.string.as_datatype_enum)
    proto.tensor_shape.dim.add(size=2)
    assert to_array(proto, "text", LIMIT).tolist() == [b"", b""]


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (tensor([1], tf.int64), "is DT_INT64, but inputs are one of DT_STRING, DT_INT32"),
        (TensorProto(), "is DT_INVALID"),
        (TensorProto(dtype=999), "is the unknown dtype 999"),  # type: ignore[arg-type]
        (tensor(7, tf.int32, [10**12]), "has 1000000000000 elements, more than the limit of 1000"),
    ],
)
def test_a_tensor_that_no_signature_takes_is_refused(proto: TensorProto, message: str) -> None:
    assert_refused(proto, message)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([1] * 100, "has 100 dimensions, but no input has more than 3"),
        ([2**62] * 400, "has 400 dimensions"),
        ([0, 2**62, 2**62], f"has the size {2**62}, more than the limit of 1000"),
        ([0, 2**63 - 1], f"has the size {2**63 - 1}, more than the limit of 1000"),
        ([0, LIMIT + 1], "has the size 1001"),
    ],
)
def test_a_shape_that_no_array_has_is_refused(shape: list[int], message: str) -> None:
    proto = TensorProto(dtype=DTYPES["string"])  # type: ignore[arg-type]
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    assert_refused(proto, message)


def test_values_that_do_not_fit_the_shape_are_refused() -> None:
    proto = tensor(["a", "b"], tf.string)
    proto.tensor_shape.dim[0].size = 1
    assert_refused(proto, "has 2 values for the 1 elements of its shape")
    proto.tensor_shape.dim[0].size = -1
    assert_refused(proto, "needs a shape of known sizes, all at least 0")
    proto.tensor_shape.unknown_rank = True
    assert_refused(proto, "needs a shape of known sizes")


@pytest.mark.parametrize(
    ("dtype", "content", "message"),
    [
        (tf.int32, b"\0\0\0\0\0", "has 5 bytes of tensor_content, expected 8"),
        (tf.string, b"\x01\x01a", "does not hold 2 strings"),
        (tf.string, b"\x01\x01abc", "does not hold 2 strings"),
        (tf.string, b"\x80" * 50, "does not hold 2 strings"),
        (tf.string, b"\x01", "does not hold 2 strings"),
    ],
)
def test_tensor_content_that_does_not_fit_the_shape_is_refused(
    dtype: tf.DType, content: bytes, message: str
) -> None:
    proto = TensorProto(dtype=dtype.as_datatype_enum, tensor_content=content)
    proto.tensor_shape.dim.add(size=2)
    assert_refused(proto, message)


@hypothesis.given(
    st.sampled_from([0, 1, 3, 7, 9, 10]),
    st.lists(st.integers(-2, 2**63 - 1) | st.sampled_from([0, 1, 2**62]), max_size=70),
    st.binary(max_size=12),
    st.lists(st.binary(max_size=3), max_size=3),
    st.lists(st.integers(-5, 5), max_size=3),
)
def test_any_tensor_is_read_or_refused(
    dtype: int, shape: list[int], content: bytes, texts: list[bytes], numbers: list[int]
) -> None:
    proto = TensorProto(
        dtype=dtype,  # type: ignore[arg-type]
        tensor_content=content,
        string_val=texts,
        int_val=numbers,
        float_val=numbers,
    )
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    try:
        array = to_array(proto, "text", LIMIT)
    except ServingError as error:
        assert error.code is Code.INVALID_ARGUMENT
    else:
        assert array.shape == tuple(shape)


def test_a_signature_is_described_as_a_saved_model_describes_it() -> None:
    signature = Signature(
        "encode",
        (TensorSpec("text", "string", (None,)),),
        (TensorSpec("mask", "bool", (None, 3)),),
    )
    definition = to_signature_def(signature)
    assert definition.method_name == "tensorflow/serving/predict"
    assert definition.inputs["text"].dtype == tf.string.as_datatype_enum
    assert [dim.size for dim in definition.inputs["text"].tensor_shape.dim] == [-1]
    assert definition.outputs["mask"].dtype == tf.bool.as_datatype_enum
    assert [dim.size for dim in definition.outputs["mask"].tensor_shape.dim] == [-1, 3]


@pytest.mark.parametrize("name", list(server_signatures(AnswerSizes())))
def test_a_declared_signature_is_described_as_it_is(name: str) -> None:
    sizes = AnswerSizes(num_hypotheses=3, max_length=9, model_dim=4, has_min_score=True)
    signature = server_signatures(sizes)[name]
    found = to_signature_def(signature)
    for specs, infos in ((signature.inputs, found.inputs), (signature.outputs, found.outputs)):
        assert set(infos) == {spec.name for spec in specs}
        for spec in specs:
            sizes_found = [dim.size for dim in infos[spec.name].tensor_shape.dim]
            assert sizes_found == [-1 if size is None else size for size in spec.shape]
            assert infos[spec.name].dtype == DTYPES[spec.dtype]
