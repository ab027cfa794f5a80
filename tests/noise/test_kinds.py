"""What each kind of noise makes of a pair, by hand."""

import random
from collections import Counter

import pytest

from keras_transformer.noise.kinds import KINDS, misspelt
from keras_transformer.text.subwords.slots import SLOTS

SOURCE, TARGET = "Don't open Çafé now!", "Öffne das Café jetzt nicht!"


@pytest.mark.parametrize(
    ("kind", "source", "target"),
    [
        ("capitals", "DON'T OPEN ÇAFÉ NOW!", "ÖFFNE DAS CAFÉ JETZT NICHT!"),
        ("title", "Don't Open Çafé Now!", "Öffne Das Café Jetzt Nicht!"),
        ("punctuation", "Don't open Çafé now", "Öffne das Café jetzt nicht"),
        ("accents", "Don't open Cafe now!", TARGET),
    ],
)
def test_both_sides_are_as_people_write_them(kind: str, source: str, target: str) -> None:
    assert KINDS[kind](SOURCE, TARGET, random.Random(0)) == (source, target)


def test_an_end_that_one_side_alone_has_stays() -> None:
    assert KINDS["punctuation"]("Stop!", "Halt", random.Random(0)) == ("Stop!", "Halt")


@pytest.mark.parametrize("kind", ["emoji", "numbers", "names", "breaks"])
def test_what_is_inserted_is_on_both_sides(kind: str) -> None:
    for seed in range(20):
        both = KINDS[kind](SOURCE, TARGET, random.Random(seed))
        more = [
            Counter(text.split()) - Counter(plain.split())
            for text, plain in zip(both, (SOURCE, TARGET), strict=True)
        ]
        assert more[0] == more[1] and sum(more[0].values()) == 1


def test_a_typo_is_of_the_keyboard_or_of_the_order() -> None:
    found = {misspelt("ward", random.Random(seed)) for seed in range(300)}
    assert {"wrad", "wrd", "waard", "wqrd", "qard", "wsrd"} <= found
    assert "ward" not in found


def test_one_word_in_ten_has_a_typo_and_the_translation_none() -> None:
    source, target = KINDS["typos"]("word " * 30, "Wort", random.Random(0))
    assert sum(one != "word" for one in source.split()) == 3
    assert target == "Wort"


@pytest.mark.parametrize("kind", KINDS)
def test_slots_stay_in_their_order(kind: str) -> None:
    text = f"{SLOTS[3]}a{SLOTS[1]} word, {SLOTS[2]}? "
    for seed in range(20):
        for one in KINDS[kind](text, text, random.Random(seed)):
            assert [sign for sign in one if sign in SLOTS] == [SLOTS[3], SLOTS[1], SLOTS[2]]
