"""Translates over gRPC, with the client code of TensorFlow Serving's documentation.

    keras-transformer serve exported/demo --grpc-port 8500
    python examples/client_grpc.py "Hello, how are you?" "Sara does not like mice."

Prints a line for each text:

    Hello, how are you? -> Hola, ¿cómo estás? (-0.23)
    Sara does not like mice. -> A Sara no le gustan los ratones. (-0.35)
"""

import argparse

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc


def main() -> None:
    """Prints each text with its translation and score."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("texts", nargs="+", help="what to translate")
    parser.add_argument("--server", default="localhost:8500", help="default: localhost:8500")
    parser.add_argument("--model", default="demo", help="name of the model (default: demo)")
    arguments = parser.parse_args()

    channel = grpc.insecure_channel(arguments.server)
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    request = predict_pb2.PredictRequest()
    request.model_spec.name = arguments.model
    request.model_spec.signature_name = "serving_default"
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(arguments.texts))
    result = stub.Predict(request, 10.0)  # 10 secs timeout
    translations = result.outputs["translation"].string_val
    scores = result.outputs["score"].float_val
    for text, translation, score in zip(arguments.texts, translations, scores, strict=True):
        print(f"{text} -> {translation.decode()} ({score:.2f})")


if __name__ == "__main__":
    main()
