"""Runs exported artefacts on onnxruntime: translation, generation and reading of texts. Needs only
numpy, onnxruntime, sentencepiece and sentencex; nothing here may import TensorFlow or Keras.
"""
