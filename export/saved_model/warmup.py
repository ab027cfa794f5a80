"""Warm-up requests, which TensorFlow Serving runs before a version serves real ones: a TFRecord
file of `PredictionLog` messages.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import tensorflow as tf

from keras_transformer.export.saved_model.requests import SignatureInputs

WARMUP_FILE = "assets.extra/tf_serving_warmup_requests"


def can_write_warmup() -> bool:
    """Tells whether TensorFlow Serving's protos are installed (extra [grpc])."""
    return find_spec("tensorflow_serving") is not None


def write_warmup(directory: Path, model_name: str, requests: Mapping[str, SignatureInputs]) -> None:
    """Writes one request for each signature.

    Args:
        directory: The SavedModel, which already has `assets.extra`.
        model_name: The name of the model in the requests.
        requests: Inputs of each signature.
    """
    from tensorflow_serving.apis import prediction_log_pb2

    with tf.io.TFRecordWriter(str(directory / WARMUP_FILE)) as writer:
        for signature, inputs in requests.items():
            log = prediction_log_pb2.PredictionLog()
            spec = log.predict_log.request.model_spec
            spec.name, spec.signature_name = model_name, signature
            for name, value in inputs.items():
                log.predict_log.request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
            writer.write(log.SerializeToString())
