"""TensorProtos to arrays and back, and signatures as TensorFlow's protos. The protos lie in
TensorFlow's package: `bare_tensorflow` loads them alone.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow.core.framework.tensor_shape_pb2 import TensorShapeProto
from tensorflow.core.framework.types_pb2 import DT_BOOL, DT_FLOAT, DT_INT32, DT_STRING, DataType
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef, TensorInfo

from keras_transformer.artefact.signatures import Dtype, Signature, TensorSpec
from keras_transformer.serving.errors import Code, ServingError


class _Kind(NamedTuple):
    """How one dtype is written.

    Attributes:
        number: TensorFlow's number for it.
        field: The field of a TensorProto that holds its values.
        default: The value of all elements if none is given.
        array_type: What it is in NumPy.
        content_type: What its bytes are in `tensor_content`.
    """

    number: int
    field: str
    default: object
    array_type: np.dtype
    content_type: np.dtype


_KINDS: dict[Dtype, _Kind] = {
    "string": _Kind(DT_STRING, "string_val", b"", np.dtype(object), np.dtype(object)),
    "int32": _Kind(DT_INT32, "int_val", 0, np.dtype(np.int32), np.dtype("<i4")),
    "float32": _Kind(DT_FLOAT, "float_val", 0.0, np.dtype(np.float32), np.dtype("<f4")),
    # Read as bytes: any but 0 is True.
    "bool": _Kind(DT_BOOL, "bool_val", False, np.dtype(bool), np.dtype("u1")),
}
# The most that a tensor of any signature has; NumPy fails at some numbers beyond it.
_MOST_DIMENSIONS = 3
_VALUES_AT_ONCE = 1 << 14
_KIND_OF_NUMBER = {kind.number: kind for kind in _KINDS.values()}
_KIND_OF_ARRAY = {kind.array_type: kind for kind in _KINDS.values()}


def to_array(proto: TensorProto, name: str, max_elements: int) -> np.ndarray:
    """Reads an input as TensorFlow does: typed values, the last of which is repeated for those
    that are missing, or `tensor_content`.

    Args:
        proto: What the client sent.
        name: The input's name, for errors.
        max_elements: Most elements a tensor may have, and its largest size: a proto of a few bytes
            can name any shape.

    Returns:
        An array of the proto's own dtype and shape; strings are an object array of bytes.

    Raises:
        ServingError: INVALID_ARGUMENT: no signature takes the dtype, the tensor is too
            large, or its values do not fit its shape.
    """
    kind = _KIND_OF_NUMBER.get(proto.dtype)
    if kind is None:
        known = proto.dtype in DataType.values()
        got = DataType.Name(proto.dtype) if known else f"the unknown dtype {proto.dtype}"
        expected = ", ".join(map(DataType.Name, _KIND_OF_NUMBER))
        raise _refusal(name, f"is {got}, but inputs are one of {expected}: see GetModelMetadata")
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    if proto.tensor_shape.unknown_rank or any(size < 0 for size in shape):
        raise _refusal(name, "needs a shape of known sizes, all at least 0")
    if len(shape) > _MOST_DIMENSIONS:
        message = f"has {len(shape)} dimensions, but no input has more than {_MOST_DIMENSIONS}"
        raise _refusal(name, f"{message}: see GetModelMetadata")
    size = math.prod(shape)
    if size > max_elements:
        raise _refusal(name, f"has {size} elements, more than the limit of {max_elements}")
    # An array without elements may have another size that is too large for NumPy.
    if max(shape, default=0) > max_elements:
        raise _refusal(name, f"has the size {max(shape)}, more than the limit of {max_elements}")
    if proto.tensor_content:
        return _from_content(proto.tensor_content, kind, size, name).reshape(shape)
    values = getattr(proto, kind.field)
    if len(values) > size:
        raise _refusal(name, f"has {len(values)} values for the {size} elements of its shape")
    array = np.empty(size, kind.array_type)
    array[: len(values)] = values
    array[len(values) :] = values[-1] if values else kind.default
    return array.reshape(shape)


def to_proto(array: np.ndarray) -> TensorProto:
    """Writes an output with typed values, as TensorFlow Serving does.

    Args:
        array: float32, int32, bool, or an object array of bytes, of any shape.
    """
    kind = _KIND_OF_ARRAY[array.dtype]
    proto = TensorProto(dtype=kind.number, tensor_shape=_shape_proto(array.shape))
    values, flat = getattr(proto, kind.field), array.ravel()
    # No other thread runs while values are appended.
    for start in range(0, flat.size, _VALUES_AT_ONCE):
        values.extend(flat[start : start + _VALUES_AT_ONCE].tolist())
    return proto


def to_signature_def(signature: Signature) -> SignatureDef:
    """Describes a signature as a SavedModel does; unknown dimensions are -1."""
    return SignatureDef(
        inputs={spec.name: _tensor_info(spec, signature) for spec in signature.inputs},
        outputs={spec.name: _tensor_info(spec, signature) for spec in signature.outputs},
        method_name="tensorflow/serving/predict",
    )


def _tensor_info(spec: TensorSpec, signature: Signature) -> TensorInfo:
    shape = tuple(-1 if size is None else size for size in spec.shape)
    return TensorInfo(
        name=f"{signature.name}_{spec.name}:0",
        dtype=_KINDS[spec.dtype].number,
        tensor_shape=_shape_proto(shape),
    )


def _shape_proto(shape: tuple[int, ...]) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])


def _from_content(content: bytes, kind: _Kind, size: int, name: str) -> np.ndarray:
    if kind.number == DT_STRING:
        try:
            texts = list(_split_strings(content, size))
        except IndexError as error:
            message = f"has a tensor_content that does not hold {size} strings"
            raise _refusal(name, message) from error
        array = np.empty(size, object)
        array[:] = texts
        return array
    expected = size * kind.content_type.itemsize
    if len(content) != expected:
        raise _refusal(name, f"has {len(content)} bytes of tensor_content, expected {expected}")
    return np.frombuffer(content, kind.content_type).astype(kind.array_type)


def _split_strings(content: bytes, count: int) -> Iterator[bytes]:
    """Yields what TensorFlow's `EncodeStringList` wrote: all lengths as varints, then all bytes.

    Raises:
        IndexError: The content is shorter or longer than its lengths say.
    """
    lengths, position = [], 0
    for _ in range(count):
        length = shift = 0
        while content[position] >= 0x80 and shift < 28:
            length |= (content[position] & 0x7F) << shift
            position, shift = position + 1, shift + 7
        lengths.append(length | content[position] << shift)
        position += 1
    if position + sum(lengths) != len(content):
        raise IndexError(f"{len(content)} bytes, expected {position + sum(lengths)}")
    for length in lengths:
        yield content[position : position + length]
        position += length


def _refusal(name: str, reason: str) -> ServingError:
    return ServingError(Code.INVALID_ARGUMENT, f'Input "{name}" {reason}.')
