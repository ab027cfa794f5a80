"""The type of tensors, said once: the libraries that make them have no types."""

from typing import Any, TypeAlias

# A tensor of TensorFlow, or of the backend that Keras runs on, symbolic or with values.
Tensor: TypeAlias = Any
