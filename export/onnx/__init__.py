"""From a Keras model to a checked ONNX artefact; needs the extra `train`."""
