"""The decode loop on onnxruntime: texts in, translations out. Needs numpy, onnxruntime and
sentencepiece only; nothing here may import TensorFlow, Keras or the rest of the package.
"""
