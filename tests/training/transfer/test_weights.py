"""Taking weights: what fits by path and shape, and what is listed."""

from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.messages import DEBUG_VARIABLE
from keras_transformer.models.encoder_only import build_encoder
from keras_transformer.training.transfer.parts import why_new
from keras_transformer.training.transfer.weights import Transfer, take_weights


def encoder(**fields: Any) -> keras.Model:
    sizes = {"model_dim": 8, "feed_forward_dim": 16, "num_layers": 1, "max_positions": 12}
    values = {**sizes, **fields}
    return build_encoder(EncoderConfig.preset("bert-tiny", vocab_size=20, **values))


def weights(model: keras.Model) -> dict[str, np.ndarray]:
    return {weight.path: np.asarray(weight) for weight in model.weights}


def test_a_classifier_takes_the_body_and_keeps_its_new_head() -> None:
    trained = encoder(head="masked_lm")
    model = encoder(head="classification", labels=("a", "b"))
    before, source = weights(model), weights(trained)
    found = take_weights(model, trained)
    after = weights(model)
    assert set(found.fresh) == {path for path in before if path.startswith(("head", "pooler"))}
    assert {path.split("/")[0] for path in found.taken} == {"embeddings", "encoder"}
    assert all(path.startswith("head/") for path in found.unused) and len(found.unused) == 5
    for path in found.taken:
        np.testing.assert_array_equal(after[path], source[path])
    for path in found.fresh:
        np.testing.assert_array_equal(after[path], before[path])


def test_parts_are_named_and_their_weights_when_debugging(monkeypatch) -> None:
    found = Transfer(
        ("head/bias",),
        {f"decoder/block_{n}/cross_attention/{w}/kernel": "x" for n in (0, 1) for w in "qkv"},
        ("embeddings/positions/matrix",),
    )
    assert str(found).splitlines() == [
        "1 weights taken, 6 new",
        "  new: decoder/cross_attention, 6 weights (x)",
        "  not used: embeddings, 1 weight",
        "  (--debug names each)",
    ]
    monkeypatch.setenv(DEBUG_VARIABLE, "1")
    assert "  new: decoder/block_1/cross_attention/v/kernel (x)\n" in str(found)
    assert str(found).endswith("  not used: embeddings/positions/matrix")


def test_another_shape_is_left_and_named() -> None:
    trained, model = encoder(), encoder(num_token_types=3)
    found = take_weights(model, trained)
    assert found.fresh == {"embeddings/token_types/matrix": "shape (3, 8), trained (2, 8)"}
    assert "new: embeddings, 1 weight (of another shape)" in str(found)


@pytest.mark.parametrize(
    ("trained", "taken", "reason"),
    [
        ({"head": "classification", "labels": ("a", "b")}, {"head", "pooler"}, None),
        ({"head": "classification", "labels": ("c", "d")}, set(), "trained for other labels"),
        ({"head": "classification", "labels": ("b", "a")}, set(), "trained for other labels"),
        ({"head": "tagging", "labels": ("a", "b")}, set(), "trained for head='tagging'"),
        ({"head": "spans"}, set(), "trained for head='spans'"),
        ({"head": "pretraining"}, {"pooler"}, "not in the trained model"),
    ],
)
def test_a_head_and_its_pooler_are_taken_for_the_labels_that_they_were_trained_for(
    trained: dict[str, Any], taken: set[str], reason: str | None
) -> None:
    theirs, model = encoder(**trained), encoder(head="classification", labels=("a", "b"))
    found = take_weights(model, theirs, why_new=why_new(theirs.config, model.config))
    assert {path.split("/")[0] for path in found.taken} - {"embeddings", "encoder"} == taken
    assert found.fresh.get("head/linear/kernel") == reason


@pytest.mark.parametrize("rows", [5, 12, 30])
@pytest.mark.parametrize("offset", [0, 2])
def test_positions_are_copied_into_any_number(rows: int, offset: int) -> None:
    trained = encoder(position_offset=2)
    model = encoder(position_offset=offset, max_positions=rows)
    found = take_weights(model, trained)
    assert "embeddings/positions/matrix" in found.taken and not found.fresh
    ours, theirs = (weights(one)["embeddings/positions/matrix"] for one in (model, trained))
    for place in range(rows):
        np.testing.assert_array_equal(ours[offset + place], theirs[2 + place % 12])
    np.testing.assert_array_equal(ours[:offset], theirs[:offset])


def test_paths_can_be_renamed_or_left_out() -> None:
    trained, model = encoder(), encoder()
    found = take_weights(model, trained, lambda path: None if "encoder/" in path else path)
    assert not any(path.startswith("encoder/") for path in found.taken)
    assert any(path.startswith("encoder/") for path in found.unused)
