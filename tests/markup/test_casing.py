"""Texts in capitals are read as sentences, and their translations written in capitals."""

import time
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.markup.alignment.aligned_text import lift_aligned
from keras_transformer.markup.casing import recased, recasing
from keras_transformer.markup.lifting import lifter
from keras_transformer.text.subwords.slots import SLOTS, Lift, TokenAlignment
from keras_transformer.text.training_text import TrainingText


def recaser(lift: Lift | None = None) -> Lift:
    made = recasing(lift, "auto", None)
    assert made is not None
    return made


def test_sentences_begin_with_a_capital() -> None:
    assert recased("“DELETE IT?” YES. ÜBER 3.5 MB!") == "“Delete it?” Yes. Über 3.5 mb!"
    assert recased("(A). … _B? 1 C!D._ E") == "(A). … _B? 1 c!d._ e"


@pytest.mark.parametrize("part", [".", ". ", " ", "._"])
def test_marks_of_many_sentences_take_no_longer_than_their_length(part: str) -> None:
    begun = time.process_time()
    recased(part * 50_000 + "1")
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("text", ["NATO", "Delete it", "", "123", "DELETE %S IN HTTP://A.ORG"])
def test_other_texts_are_read_as_they_are(text: str) -> None:
    lifted = recaser()(text)
    assert (lifted.text, lifted.put_back("Ein %s")) == (text, "Ein %s")


def test_a_translation_is_in_capitals_but_for_its_spans() -> None:
    lifted = recaser(lifter("auto"))("DELETE <b>%(name)s</b> NOW")
    first, second, third = SLOTS[:3]
    assert lifted.text == f"Delete {first}{second}{third} now"
    said = f"Jetzt {first}{second}{third} löschen"
    assert lifted.is_kept(said)
    assert lifted.put_back(said) == "JETZT <b>%(name)s</b> LÖSCHEN"
    assert lifted.taken_out("JETZT <b>%(name)s") == f"Jetzt {first}{second}"


def test_tags_that_attention_puts_back_stay_as_they_are() -> None:
    lifted = recaser(partial(lift_aligned, profile="auto"))("DELETE <b>IT</b>")
    assert lifted.text == "Delete it" and lifted.needs_alignment
    said, places = "Lösche Maß", [(0, 6), (6, 10)]
    alignment = TokenAlignment(lifted.text, [(0, 6), (6, 9)], said, places, np.eye(2, dtype="f"))
    assert lifted.is_kept(said, alignment)
    assert lifted.put_back(said, alignment) == "LÖSCHE <b>MASS</b>"


def test_the_beginning_of_a_translation_may_have_letters_of_its_own() -> None:
    assert recaser()("DELETE IT").taken_out("die Datei") == "die Datei"


@given(st.text("ABCÄÉ .!?«»<b>%&;{}", max_size=30))
def test_what_is_recased_comes_back_in_capitals(text: str) -> None:
    for lift in (None, lifter("auto")):
        lifted = recaser(lift)(text)
        assert lifted.put_back(lifted.text) == text


@pytest.mark.parametrize(("capitals", "recases"), [(None, False), (0, True), (1, False)])
def test_a_model_that_knows_capitals_reads_them(capitals: int | None, recases: bool) -> None:
    seen = TrainingText(longest_source=9, sentences=(100,), capitals=capitals)
    assert (recasing(None, "auto", seen) is not None) == recases
    assert recasing(None, "keep", seen) is None
    assert recasing(None, "recase", seen) is not None


def test_another_casing_is_refused() -> None:
    with pytest.raises(ValueError, match="casing must be one of auto, keep, recase, got .lower."):
        recasing(None, "lower", None)  # type: ignore[arg-type]
