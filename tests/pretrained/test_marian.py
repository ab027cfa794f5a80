"""Marian's names of weights, where they differ from one kind of model to the other."""

from typing import Any

import pytest

from keras_transformer.pretrained.formats.marian import marian_table


@pytest.mark.parametrize(
    ("norm", "name"), [("post", "rnn_ffn_ln_scale"), ("pre", "rnn_ln_scale_pre")]
)
def test_a_recurrence_s_norm_is_named_for_its_place(
    random_model: Any, norm: str, name: str
) -> None:
    model = random_model(decoder_recurrence="ssru", norm=norm, logit_bias=True)
    found = {entry.name: entry.weight for entry in marian_table(model, shared=True)}
    for number, block in enumerate(model.decoder_stack.blocks, start=1):
        here = f"decoder_l{number}"
        assert found[f"{here}_{name}"] is block.ssru_residual.layer_norm.gamma
        assert found[f"{here}_rnn_W"] is block.ssru.candidate.kernel
        assert found[f"{here}_rnn_Wf"] is block.ssru.forget.kernel
        assert found[f"{here}_rnn_bf"] is block.ssru.forget.bias
    assert len(found) == len(model.weights)
