"""Pairs to train on have slots for what both texts have, the same ones whenever they are made."""

import pytest

from keras_transformer.markup.pairs import with_slots
from keras_transformer.text.subwords.slots import SLOTS

SOURCES = ["Open %s in <b>%s</b>", "a %d"] * 50
TARGETS = ["<b>%s</b>: %s öffnen %d", "ein"] * 50


def test_the_first_slots_stand_for_what_both_texts_have() -> None:
    [source, other], [target, _] = with_slots(SOURCES[:2], TARGETS[:2], "auto", seed=None)
    first, opening, second, closing = SLOTS[:4]
    assert source == f"Open {first} in {opening}{second}{closing}"
    assert target == f"{opening}{first}{closing}: {second} öffnen %d"
    assert other == "a %d"


def test_a_seed_draws_slots_for_most_pairs_again_and_again_the_same() -> None:
    drawn = with_slots(SOURCES, TARGETS, "auto", seed=7)
    assert drawn == with_slots(SOURCES, TARGETS, "auto", seed=7)
    assert drawn != with_slots(SOURCES, TARGETS, "auto", seed=8)
    plain = sum(one == "Open %s in <b>%s</b>" for one in drawn[0])
    assert 0 < plain < 15
    for source, target in zip(*drawn, strict=True):
        slots = [[one for one in text if one in SLOTS] for text in (source, target)]
        assert sorted(slots[0]) == sorted(slots[1]) and len(set(slots[0])) == len(slots[0])


def test_slots_are_drawn_from_all() -> None:
    sources, _ = with_slots(SOURCES, TARGETS, "auto", seed=0)
    assert len(set("".join(sources)) & set(SLOTS)) == len(SLOTS)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("_Show %s", "%s ein_blenden", ("Show \U000fff80", "\U000fff80 einblenden")),
        ("Use $MY_Var", "Nutze $MY_Var", ("Use \U000fff80", "Nutze \U000fff80")),
        ("Exit", "B_eenden", ("Exit", "B_eenden")),
        ("_Exit", "a_b c_d", ("Exit", "a_b c_d")),
    ],
)
def test_labels_have_no_accelerators(source: str, target: str, expected: tuple[str, str]) -> None:
    assert tuple(one for [one] in with_slots([source], [target], "auto", seed=None)) == expected
