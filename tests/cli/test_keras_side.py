"""The late, quiet import of the training code."""

import os
import sys

import pytest

from keras_transformer.cli import keras_side

CHATTER = b"I0000 00:00:1795893819.897388   28973 cudart_stub.cc:31] Could not find cuda drivers\n"


def test_without_tensorflow_the_extra_is_named(monkeypatch) -> None:
    def fail(name: str):
        raise ModuleNotFoundError("No module named 'tensorflow'", name="tensorflow")

    monkeypatch.setattr(keras_side, "import_module", fail)
    with pytest.raises(
        ImportError, match=r'needs tensorflow: .* "keras-seq2seq-transformer\[train\]"'
    ):
        keras_side.load_training()


@pytest.mark.parametrize("use", [keras_side.load_training, keras_side.require_training])
def test_the_backend_is_looked_at_first(monkeypatch, use) -> None:
    monkeypatch.setattr("keras.backend.backend", lambda: "jax")
    monkeypatch.setattr(keras_side, "import_module", lambda name: pytest.fail("imported"))
    with pytest.raises(ValueError, match="this command needs Keras on TensorFlow, got .*'jax'"):
        use()


def test_a_broken_module_of_ours_is_not_blamed_on_the_extra(monkeypatch) -> None:
    def fail(name: str):
        raise ModuleNotFoundError("No module named", name="keras_transformer.training.lost")

    monkeypatch.setattr(keras_side, "import_module", fail)
    with pytest.raises(ModuleNotFoundError) as error:
        keras_side.load_training()
    assert error.value.name == "keras_transformer.training.lost"


def test_messages_of_a_good_import_are_dropped(monkeypatch, capfd) -> None:
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setattr(keras_side, "import_module", lambda name: os.write(2, CHATTER))
    keras_side.load_training()
    os.write(2, b"later\n")
    assert capfd.readouterr().err == "later\n"


def test_messages_of_a_failed_import_are_shown(monkeypatch, capfd) -> None:
    def fail(name: str):
        os.write(2, CHATTER + b"cannot load library\n")
        raise RuntimeError("broken")

    monkeypatch.setattr(keras_side, "import_module", fail)
    with pytest.raises(RuntimeError, match="broken"):
        keras_side.load_training()
    assert capfd.readouterr().err == CHATTER.decode() + "cannot load library\n"


@pytest.mark.parametrize(("quota", "users", "expected"), [(None, {}, None), (2, {}, "2")])
def test_tensorflow_keeps_to_the_quota_of_its_container(
    monkeypatch, quota: int | None, users: dict[str, str], expected: str | None
) -> None:
    pools = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    for pool in pools:
        monkeypatch.delenv(pool, raising=False)
    monkeypatch.setattr(keras_side, "quota_cores", lambda: quota)
    monkeypatch.setattr(keras_side, "available_cores", lambda: 2)
    monkeypatch.setattr(keras_side, "import_module", lambda name: None)
    keras_side.load_training()
    assert [os.environ.get(pool) for pool in pools] == [expected] * 2
    monkeypatch.setenv(pools[0], "7")
    keras_side.load_training()
    assert os.environ[pools[0]] == "7"
    for pool in pools:
        monkeypatch.delenv(pool, raising=False)


def test_threads_that_are_asked_for_replace_the_users_variable(monkeypatch) -> None:
    pools = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    for pool in pools:
        monkeypatch.setenv(pool, "7")
    keras_side.limit_threads(3)
    assert [os.environ[pool] for pool in pools] == ["3", "3"]
