"""A server that speaks TensorFlow Serving's protocols on onnxruntime."""
