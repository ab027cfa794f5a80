"""The late, quiet import of the training code."""

import os

import pytest

from keras_transformer.cli import keras_side
from keras_transformer.training.run.options import TrainOptions

MIXED, WITH_XLA = TrainOptions(dtype_policy="mixed_bfloat16"), TrainOptions(jit_compile=True)


def test_without_tensorflow_the_extra_is_named(monkeypatch) -> None:
    def fail(name: str):
        raise ModuleNotFoundError("No module named 'tensorflow'", name="tensorflow")

    monkeypatch.setattr(keras_side, "import_module", fail)
    with pytest.raises(
        ImportError, match=r'need tensorflow: .* "keras-seq2seq-transformer\[train\]"'
    ):
        keras_side.load_training()


def test_a_broken_module_of_ours_is_not_blamed_on_the_extra(monkeypatch) -> None:
    def fail(name: str):
        raise ModuleNotFoundError("No module named", name="keras_transformer.training.lost")

    monkeypatch.setattr(keras_side, "import_module", fail)
    with pytest.raises(ModuleNotFoundError) as error:
        keras_side.load_training()
    assert error.value.name == "keras_transformer.training.lost"


def test_messages_of_a_good_import_are_dropped(monkeypatch, capfd) -> None:
    monkeypatch.setattr(keras_side, "import_module", lambda name: os.write(2, b"chatter\n"))
    keras_side.load_training()
    os.write(2, b"later\n")
    assert capfd.readouterr().err == "later\n"


def test_messages_of_a_failed_import_are_shown(monkeypatch, capfd) -> None:
    def fail(name: str):
        os.write(2, b"cannot load library\n")
        raise RuntimeError("broken")

    monkeypatch.setattr(keras_side, "import_module", fail)
    with pytest.raises(RuntimeError, match="broken"):
        keras_side.load_training()
    assert capfd.readouterr().err == "cannot load library\n"


@pytest.mark.parametrize("options", [MIXED, WITH_XLA], ids=["mixed", "XLA"])
def test_what_is_not_float32_is_not_rounded(monkeypatch, options: TrainOptions) -> None:
    monkeypatch.setattr(keras_side, "_round_factors", lambda: pytest.fail("is rounded"))
    keras_side.choose_products("auto", options)
    keras_side.check_products("auto", options)
    with pytest.raises(ValueError, match="--products bfloat16 rounds the factors of float32"):
        keras_side.check_products("bfloat16", options)


def test_products_are_rounded_where_it_is_fast_and_it_is_said(monkeypatch, capsys) -> None:
    monkeypatch.setattr(keras_side, "_round_factors", lambda: True)
    for products in ("auto", "bfloat16"):
        keras_side.choose_products(products, TrainOptions())
        assert "--products float32 keeps them" in capsys.readouterr().out
    keras_side.choose_products("float32", TrainOptions())
    assert capsys.readouterr().out == ""


def test_rounding_that_the_processor_cannot_do_is_refused(monkeypatch, capsys) -> None:
    monkeypatch.setattr(keras_side, "_round_factors", lambda: False)
    keras_side.choose_products("auto", TrainOptions())
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="bfloat16 needs .* AMX"):
        keras_side.choose_products("bfloat16", TrainOptions())
