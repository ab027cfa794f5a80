"""The JSON of KServe's second protocol: tensors as arrays, and arrays as tensors."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.signatures import Signature, TensorSpec
from keras_transformer.serving.errors import refusal
from keras_transformer.serving.http.json_tensors import PredictRequest, json_values
from keras_transformer.serving.http.openai.fields import Fields, checked_text, wrong
from keras_transformer.serving.models.outputs import Outputs

DATATYPES = {"string": "BYTES", "int32": "INT32", "float32": "FP32", "bool": "BOOL"}
_INTEGERS = tuple(f"{kind}{bits}" for kind in ("INT", "UINT") for bits in (8, 16, 32, 64))
# What a tensor of each dtype may come as, whose values are checked one by one.
TAKEN = {**{dtype: (name,) for dtype, name in DATATYPES.items()}, "int32": _INTEGERS}
TAKEN["float32"] = ("FP16", "FP32", "FP64")
_MOST_AXES = 8
# Lists that a tensor without a value may be made of: a body pays for none of them.
_MOST_EMPTY = 4096
# Asks for answers in binary, which a server that knows only JSON leaves out.
_BINARY = ("binary_data", "binary_data_output")


class InferRequest(NamedTuple):
    """A request's body.

    Attributes:
        id: The name of the answer; None for none.
        signature_name: The signature; "" for the default.
        tensors: The inputs, each once by its name.
        outputs: The outputs that are wanted; none for all.
    """

    id: str | None
    signature_name: str
    tensors: Mapping[str, Fields]
    outputs: Sequence[str]

    def columns(self, signature: Signature) -> PredictRequest:
        """Returns the inputs as those of TensorFlow Serving's column format.

        Raises:
            ServingError: A tensor lacks its dtype or shape, or its signature has another dtype.
        """
        specs = {spec.name: spec for spec in (*signature.required, *signature.optional)}
        columns = {
            name: _nested(name, tensor, specs.get(name)) for name, tensor in self.tensors.items()
        }
        return PredictRequest(self.signature_name, False, columns)

    def wanted(self, signature: Signature) -> list[TensorSpec]:
        """Returns the outputs to send.

        Raises:
            ServingError: The signature has no such output.
        """
        specs = {spec.name: spec for spec in signature.outputs}
        for name in self.outputs:
            if name not in specs:
                known = ", ".join(specs)
                raise refusal(f"there is no output {name!r}: {signature.name} has {known}.")
        return [specs[name] for name in self.outputs or specs]


def read_infer(body: Mapping[str, Any]) -> InferRequest:
    """Reads a body, except for the values, which need the signature.

    Raises:
        ServingError: It is not an inference request.
    """
    fields = Fields(body)
    asked, parameters = fields.text("id"), _parameters(fields)
    signature = parameters.text("signature_name", "")
    parameters.finish(_BINARY, {})
    tensors: dict[str, Fields] = {}
    for name, tensor in _listed(fields, "inputs", fields.required("inputs")):
        if name in tensors:
            raise refusal(f"the input {name!r} is given twice.")
        tensors[name] = tensor
    outputs = []
    for name, output in _listed(fields, "outputs", fields.take("outputs", [])):
        _parameters(output).finish(_BINARY, {})
        output.finish((), {})
        outputs.append(name)
    fields.finish((), {})
    return InferRequest(asked, signature, tensors, list(dict.fromkeys(outputs)))


def write_tensors(outputs: Outputs, specs: Sequence[TensorSpec]) -> bytes:
    """Returns arrays as a list of tensors, their values in one list each."""
    return b"[%b]" % b",".join(
        b'{"name":"%b","datatype":"%b","shape":%b,"data":%b}'
        % (
            spec.name.encode(),
            DATATYPES[spec.dtype].encode(),
            json_values(np.array(outputs[spec.name].shape)),
            json_values(_decoded(outputs[spec.name])),
        )
        for spec in specs
    )


def describe(specs: Sequence[TensorSpec]) -> list[dict[str, Any]]:
    """Returns the descriptions of tensors; -1 is a size that each request chooses."""
    return [
        {
            "name": spec.name,
            "datatype": DATATYPES[spec.dtype],
            "shape": [-1 if size is None else size for size in spec.shape],
        }
        for spec in specs
    ]


def _listed(fields: Fields, kind: str, given: Any) -> list[tuple[str, Fields]]:
    """Returns the objects of a list with their names."""
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise wrong(kind, "a list of objects", given)
    objects = [Fields(one) for one in given]
    return [(checked_text("name", one.required("name")), one) for one in objects]


def _parameters(fields: Fields) -> Fields:
    given = fields.take("parameters", {})
    if not isinstance(given, dict):
        raise wrong("parameters", "an object", given)
    return Fields(given)


def _nested(name: str, tensor: Fields, spec: TensorSpec | None) -> Any:
    """Returns the values of a tensor in lists of its shape."""
    parameters, datatype = _parameters(tensor), tensor.required("datatype")
    if "binary_data_size" in parameters:
        raise refusal(f"{name} is sent in binary: send JSON (binary_data=False), or use gRPC.")
    parameters.finish((), {})
    shape, data = tensor.required("shape"), tensor.required("data")
    tensor.finish((), {})
    if spec is not None and datatype not in TAKEN[spec.dtype]:
        expected = " or ".join(TAKEN[spec.dtype])
        raise wrong(f"datatype of {name}", expected, datatype)
    is_shape = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
    if not is_shape or len(shape) > _MOST_AXES or not isinstance(data, list):
        raise refusal(f"{name} must have a shape, a list of sizes, and data, a list of values.")
    values = data
    while any(isinstance(one, list) for one in values):
        if not all(isinstance(one, list) for one in values):
            raise refusal(f"data of {name} must be nested evenly, or flat.")
        values = [value for one in values for value in one]
    if len(values) != prod(shape):
        raise refusal(f"{name} has the shape {shape}, and {len(values)} values.")
    if prod(filter(None, shape)) > max(len(values), _MOST_EMPTY):
        raise refusal(f"{name} has the shape {shape} without a value: send at most {_MOST_EMPTY}.")
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape).tolist()


def _decoded(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns an array whose strings are texts: JSON has no others."""
    if array.dtype != object:
        return array
    texts = [one.decode(errors="replace") for one in array.ravel().tolist()]
    return np.array(texts, object).reshape(array.shape)
