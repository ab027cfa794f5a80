"""The metadata of a model as protos, field by field."""

from collections.abc import Callable, Iterable, Mapping

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap

from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.models.served import Served
from keras_transformer.serving.rpc.grpc_tensors import to_signature_def


def metadata_of(model: Served, fields: Iterable[str]) -> dict[str, Message]:
    """Returns the requested fields: "signature_def", as in TensorFlow Serving, or "graphs".

    Raises:
        ServingError: No field is named, or an unknown one.
    """
    names = list(dict.fromkeys(fields))
    if not names:
        message = "GetModelMetadataRequest must specify at least one metadata_field"
        raise ServingError(Code.INVALID_ARGUMENT, message)
    for name in names:
        if name not in _FIELDS:
            known = " or ".join(_FIELDS)
            message = f"Metadata field {name} is not supported: ask for {known}"
            raise ServingError(Code.INVALID_ARGUMENT, message)
    return {name: _FIELDS[name](model) for name in names}


def _signatures(model: Served) -> SignatureDefMap:
    definitions = {name: to_signature_def(one) for name, one in model.signatures.items()}
    return SignatureDefMap(signature_def=definitions)


def _graphs(model: Served) -> Struct:
    """Returns which of the artefact's graphs run, and why."""
    found = Struct()
    found.update(model.graphs)
    return found


_FIELDS: Mapping[str, Callable[[Served], Message]] = {
    "signature_def": _signatures,
    "graphs": _graphs,
}
