"""Special ids as a value of the config: what they may be, and what follows from them."""

import pytest

from keras_transformer.config import SpecialIds, TransformerConfig


def test_the_defaults_are_those_of_vocabularies_trained_here() -> None:
    ids = SpecialIds()
    assert (ids.pad, ids.unk, ids.bos, ids.eos, ids.decoder_start) == (0, 1, 2, 3, 2)


@pytest.mark.parametrize(
    ("fields", "start", "never"),
    [
        ({}, 2, {0, 2}),
        ({"bos": None}, 3, {0}),
        ({"bos": None, "decoder_start": 0}, 0, {0}),
        ({"decoder_start": 3}, 3, {0, 2}),
        ({"decoder_start": 7}, 7, {0, 2, 7}),
        ({"pad": 59, "unk": 1, "bos": None, "eos": 0, "decoder_start": 59}, 59, {59}),
    ],
)
def test_what_decoding_starts_with_is_never_generated_but_for_the_end(
    fields: dict, start: int, never: set[int]
) -> None:
    ids = SpecialIds(**fields)
    assert ids.decoder_start == start
    assert ids.never_generated == never
    assert ids.added_to_text == never | {ids.eos}
    assert ids.without_text == never | {ids.eos, ids.unk}
    assert not ids.without_text & set(ids.text_ids(60))


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"pad": -1}, ValueError, "special id pad must be at least 0, got -1"),
        ({"unk": 1, "bos": 1}, ValueError, "must be different ids, got 0, 1, 1, 3"),
        ({"eos": None}, TypeError, "special id eos must be an integer, got None"),
        ({"unk": True}, TypeError, "special id unk must be an integer, got True"),
        ({"eos": 0}, ValueError, "must be different ids, got 0, 1, 2, 0"),
    ],
)
def test_ids_that_cannot_be_are_refused(fields: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        SpecialIds(**fields)


def test_a_config_keeps_its_special_ids_through_json() -> None:
    ids = SpecialIds(pad=9, unk=0, bos=None, eos=1)
    config = TransformerConfig.preset("tiny", vocab_size=10, special_ids=ids)
    assert TransformerConfig.from_json(config.to_json()) == config


def test_a_vocabulary_may_spell_all_text_and_have_no_unk() -> None:
    ids = SpecialIds(pad=9, unk=None, bos=None, eos=8)
    assert ids.substitute == ids.decoder_start == 8
    assert ids.without_text == ids.added_to_text == {8, 9}
    assert ids.never_generated == {9}
    config = TransformerConfig.preset("tiny", vocab_size=10, special_ids=ids)
    assert TransformerConfig.from_json(config.to_json()) == config
    assert SpecialIds().substitute == SpecialIds.unk


def test_a_config_of_version_0_1_has_the_default_special_ids() -> None:
    values = TransformerConfig.preset("tiny", vocab_size=10).to_dict()
    del values["special_ids"]
    assert TransformerConfig.from_dict(values).special_ids == SpecialIds()


def test_special_ids_outside_the_vocabulary_are_refused() -> None:
    ids = SpecialIds(pad=10)
    with pytest.raises(ValueError, match="names the id 10, but .* has the ids 0 to 9"):
        TransformerConfig.preset("tiny", vocab_size=10, special_ids=ids)
