"""Translates texts with exported artefacts: the decode loop on onnxruntime. Needs only numpy,
onnxruntime and sentencepiece; nothing here may import TensorFlow or Keras.
"""
