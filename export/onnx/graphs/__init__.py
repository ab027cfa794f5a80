"""Takes a Keras model and returns its ONNX graphs, for each target."""
