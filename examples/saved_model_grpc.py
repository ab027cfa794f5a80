"""Serves a SavedModel over the gRPC interface of TensorFlow Serving, without TensorFlow Serving:
Predict only, for the newest version of one model, without batching.

    keras-transformer export runs/demo --format saved_model --output exported/demo_tf
    python examples/saved_model_grpc.py exported/demo_tf --model demo

Prints, once it answers:

    gRPC on 127.0.0.1:8500: model demo, version 1
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import tensorflow as tf

# A SavedModel that takes texts needs the tokenizer's operators, which this import registers.
import tensorflow_text  # noqa: F401
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from keras_transformer.serving.rpc.grpc_tensors import to_proto


class SavedModelServicer(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Answers Predict with the signatures of a SavedModel.

    Args:
        directory: Holds the versions, each in a directory named by its number.
        name: What requests call the model.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self.name = name
        self.version = max(int(path.name) for path in directory.iterdir() if path.name.isdigit())
        self._model = tf.saved_model.load(str(directory / str(self.version)))

    def Predict(
        self, request: predict_pb2.PredictRequest, context: grpc.ServicerContext
    ) -> predict_pb2.PredictResponse:
        """Runs a signature."""
        spec = request.model_spec
        key = spec.signature_name or "serving_default"
        if spec.name != self.name:
            message = f"Servable not found for request: Latest({spec.name})"
            context.abort(grpc.StatusCode.NOT_FOUND, message)
        if key not in self._model.signatures:
            message = f'Serving signature key "{key}" not found.'
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, message)
        try:
            outputs = self._run(key, request)
        except (TypeError, ValueError, tf.errors.InvalidArgumentError) as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        response = predict_pb2.PredictResponse()
        response.model_spec.name = self.name
        response.model_spec.version.value = self.version
        response.model_spec.signature_name = key
        for name, value in outputs.items():
            if not request.output_filter or name in request.output_filter:
                response.outputs[name].CopyFrom(to_proto(value.numpy()))
        return response

    def _run(self, key: str, request: predict_pb2.PredictRequest) -> dict[str, Any]:
        inputs = {
            name: tf.io.parse_tensor(proto.SerializeToString(), tf.as_dtype(proto.dtype))
            for name, proto in request.inputs.items()
        }
        return self._model.signatures[key](**inputs)


def main() -> None:
    """Serves until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("directory", type=Path, help="holds the versions of the SavedModel")
    parser.add_argument("--model", default="model", help="its name in requests (default: model)")
    parser.add_argument("--port", type=int, default=8500, help="0 takes a free one (default: 8500)")
    arguments = parser.parse_args()

    servicer = SavedModelServicer(arguments.directory, arguments.model)
    server = grpc.server(ThreadPoolExecutor(max_workers=8))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port(f"127.0.0.1:{arguments.port}")
    server.start()
    print(
        f"gRPC on 127.0.0.1:{port}: model {servicer.name}, version {servicer.version}", flush=True
    )
    server.wait_for_termination()


if __name__ == "__main__":
    main()
