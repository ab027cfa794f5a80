"""ONNX graphs of a Keras model, for each target."""
