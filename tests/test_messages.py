"""TensorFlow's messages at its start stay away from Python, too, unless the user asks for them."""

import os
import subprocess
import sys

import pytest

from keras_transformer.messages import without_start_messages

LEVEL = "TF_CPP_MIN_LOG_LEVEL"
MESSAGES = (
    b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
    b"I0000 00:00:1795893819.897388   28973 cudart_stub.cc:31] Could not find cuda drivers\n"
    b"2026-11-28 19:00:00.123456: E external/local_xla/xla/cuda_dnn.cc:9] Unable to register\n"
    b"To enable the following instructions: AVX2, in other operations, rebuild TensorFlow with\n"
)
COMPUTES = """
import keras_transformer as kt
kt.train
import tensorflow as tf
tf.ones((2, 2)) @ tf.ones((2, 2))
"""


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A process into which TensorFlow is not loaded yet, as far as one can see."""
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.delenv(LEVEL, raising=False)
    return monkeypatch


def test_messages_are_dropped_and_all_else_is_shown(fresh, capfd) -> None:
    with without_start_messages():
        os.write(2, MESSAGES + b"of a user's thread\n")
    assert capfd.readouterr().err == "of a user's thread\n"
    assert os.environ[LEVEL] == "3"


def test_the_users_level_is_kept(fresh, capfd) -> None:
    fresh.setenv(LEVEL, "0")
    with without_start_messages():
        os.write(2, MESSAGES)
    assert capfd.readouterr().err == MESSAGES.decode()
    assert os.environ[LEVEL] == "0"


def test_what_is_loaded_inside_keeps_to_the_first(fresh, capfd) -> None:
    with without_start_messages():
        with without_start_messages():
            os.write(2, MESSAGES)
        os.write(2, MESSAGES + b"later\n")
    assert capfd.readouterr().err == "later\n"


def test_a_fresh_process_is_quiet() -> None:
    environment = {name: value for name, value in os.environ.items() if name != LEVEL}
    done = subprocess.run(
        [sys.executable, "-c", COMPUTES], env=environment, capture_output=True, check=True
    )
    assert done.stderr == b"" and done.stdout == b""
