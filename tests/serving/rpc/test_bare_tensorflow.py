"""TensorFlow's messages are loaded without it, and are its own when it is loaded later."""

import sys

from fresh_process import python

from keras_transformer.serving.rpc.bare_tensorflow import bare_tensorflow

SCRIPT = """
import sys
from keras_transformer.serving.rpc.bare_tensorflow import bare_tensorflow

with bare_tensorflow():
    from keras_transformer.serving.rpc import grpc_server, grpc_tensors
assert not {"tensorflow", "tensorflow.python", "keras"} & set(sys.modules)

import numpy as np
found = grpc_tensors.to_proto(np.array([b"a"], object))

import tensorflow as tf
assert type(found) is type(tf.make_tensor_proto(["a"]))
assert tf.make_ndarray(found).tolist() == [b"a"]
assert int(tf.constant(1) + 1) == 2
"""


def test_the_grpc_side_loads_no_tensorflow_and_gets_along_with_it_later() -> None:
    python("-c", SCRIPT)


def test_a_tensorflow_that_is_loaded_stays() -> None:
    import tensorflow

    with bare_tensorflow():
        assert sys.modules["tensorflow"] is tensorflow
    assert sys.modules["tensorflow"] is tensorflow
