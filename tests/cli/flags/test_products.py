"""`--products`: factors are rounded where that is asked for, or fast, and the rest is refused."""

import pytest

from keras_transformer.cli.flags import products as flag
from keras_transformer.training.run.options import TrainOptions

MIXED, WITH_XLA = TrainOptions(dtype_policy="mixed_bfloat16"), TrainOptions(jit_compile=True)


@pytest.mark.parametrize("options", [MIXED, WITH_XLA], ids=["mixed", "XLA"])
def test_what_is_not_float32_is_not_rounded(monkeypatch, options: TrainOptions) -> None:
    monkeypatch.setattr(flag, "_round_factors", lambda: pytest.fail("is rounded"))
    flag.choose_products("auto", options)
    flag.check_products("auto", options)
    with pytest.raises(ValueError, match="--products bfloat16 works only in float32"):
        flag.check_products("bfloat16", options)


def test_products_are_rounded_where_it_is_fast_and_it_is_said(monkeypatch, capsys) -> None:
    monkeypatch.setattr(flag, "_round_factors", lambda: True)
    for products in ("auto", "bfloat16"):
        flag.choose_products(products, TrainOptions())
        assert "--products float32 keeps them" in capsys.readouterr().out
    flag.choose_products("float32", TrainOptions())
    assert capsys.readouterr().out == ""


def test_rounding_that_the_processor_cannot_do_is_refused(monkeypatch, capsys) -> None:
    monkeypatch.setattr(flag, "_round_factors", lambda: False)
    flag.choose_products("auto", TrainOptions())
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="bfloat16 needs .* AMX"):
        flag.choose_products("bfloat16", TrainOptions())
