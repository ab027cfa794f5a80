"""The gRPC side of the server, with TensorFlow Serving's protos and without TensorFlow."""
