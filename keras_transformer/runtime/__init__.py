"""Translates, reads and continues texts with exported artefacts on onnxruntime. Needs only numpy,
onnxruntime and sentencepiece; nothing here may import TensorFlow or Keras.
"""
