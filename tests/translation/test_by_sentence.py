"""Texts of several sentences: every part is translated, and put together in the source's layout."""

from typing import Any

import pytest

from keras_transformer.cli.long_lines import places_taken
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.search.named_ids import PrefixError
from keras_transformer.search.options import Hypothesis, SearchOptions, length_penalty
from keras_transformer.text.letterless import KINDS
from keras_transformer.text.training_text import TrainingText
from keras_transformer.translation.by_sentence import SentenceTranslator


class Shouting:
    """Translates the first sentence only, to upper case; a word is a token."""

    max_source_length = 6
    training_text = min_score = lift = None
    carried = frozenset(KINDS)
    unknown_letters = None
    marks = SentenceMarks(languages={"fra": 20}, languages_in="source")

    def __init__(self) -> None:
        self.parts: list[str] = []

    def search_options(self, **options: Any) -> SearchOptions:
        return SearchOptions(**options)

    def source_lengths(self, texts: list[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def translate(self, texts: list[str], **options: Any) -> list[str]:
        return [found[0].text for found in self.translate_n_best(texts, **options)]

    def translate_n_best(
        self, texts: list[str], *, target_prefixes: list[str] | None = None, **options: Any
    ) -> list[list[Hypothesis]]:
        self.parts = list(texts)
        prefixes = target_prefixes or [""] * len(texts)
        return [
            [self._hypothesis(prefix + text, rank) for rank in range(1 + (" " in text))]
            for prefix, text in zip(prefixes, texts, strict=True)
        ]

    def _hypothesis(self, text: str, rank: int) -> Hypothesis:
        shouted = text.partition(". ")[0].upper() + "+" * rank
        return Hypothesis(shouted, [7] * len(text.split()), -0.5 - rank, -1.0 - rank)


TEXT = " One is. Two are there.\n\nThree. "


def test_every_sentence_is_translated_and_the_layout_stays() -> None:
    texts = [TEXT, "", "One, two.", "\n"]
    found = SentenceTranslator(Shouting()).translate(texts)
    assert found == [" ONE IS. TWO ARE THERE.\n\nTHREE. ", "", "ONE, TWO.", "\n"]


def test_wrapped_lines_are_joined_by_hand() -> None:
    text = "> One\n> is. Two\n> are.\n\n- Three.\n"
    assert SentenceTranslator(Shouting()).translate([text]) == [
        "> ONE\n> IS. TWO\n> ARE.\n\n- THREE.\n"
    ]
    shouting = Shouting()
    found = SentenceTranslator(shouting, join_lines=True).translate([text])
    assert found == ["> ONE IS. TWO ARE.\n\n- THREE.\n"]
    assert shouting.parts == ["One is.", "Two are.", "Three."]


def test_places_are_counted_by_part() -> None:
    shouting, texts = Shouting(), [TEXT, "", "One, two.", "\n"]
    splitting = SentenceTranslator(shouting)
    splitting.translate(texts)
    assert splitting.count_parts(texts) == places_taken(splitting, texts) == len(shouting.parts)
    assert places_taken(splitting, [TEXT]) == 3
    assert places_taken(shouting, [TEXT, ""]) == 2  # type: ignore[arg-type]


def test_a_tag_stands_before_all_parts_of_its_text() -> None:
    shouting = Shouting()
    [parts, plain] = SentenceTranslator(shouting).translate_parts([">>fra<< One is. Two.", "Two."])
    assert shouting.parts == [">>fra<< One is.", ">>fra<< Two.", "Two."]
    assert [(one.source, one.start) for one in parts] == [("One is.", 8), ("Two.", 16)]
    assert [(one.source, one.start) for one in plain] == [("Two.", 0)]


def test_a_long_sentence_is_halved() -> None:
    shouting = Shouting()
    text = " ".join(f"word{number}" for number in range(40))
    assert SentenceTranslator(shouting).translate([text]) == [text.upper()]
    assert max(shouting.source_lengths(shouting.parts)) <= 6


@pytest.mark.parametrize(
    ("known", "parts"),
    [
        (None, ["Ada is.", "Bob is.", "Cat is."]),
        (TrainingText(longest_source=6, sentences=(1, 1, 1)), ["Ada is. Bob is. Cat is."]),
        (TrainingText(longest_source=5, sentences=(1, 1, 1)), ["Ada is. Bob is.", "Cat is."]),
        (TrainingText(longest_source=90, sentences=(1, 1)), ["Ada is. Bob is.", "Cat is."]),
        (
            TrainingText(longest_source=1, sentences=(9,)),
            ["Ada", "is.", "Bob", "is.", "Cat", "is."],
        ),
    ],
)
def test_a_text_is_split_only_beyond_what_the_model_knows(
    known: TrainingText | None, parts: list[str]
) -> None:
    shouting = Shouting()
    shouting.training_text = known
    SentenceTranslator(shouting).translate(["Ada is. Bob is. Cat is."])
    assert shouting.parts == parts


def test_parts_have_ids_and_scores() -> None:
    [[first, second, third]] = SentenceTranslator(Shouting()).translate_parts([TEXT])
    assert [first.source, second.source, third.source] == ["One is.", "Two are there.", "Three."]
    starts = [TEXT.index(word) for word in ("One", "Two", "Three")]
    assert [first.start, second.start, third.start] == starts
    assert [one.text for one in second.hypotheses] == ["TWO ARE THERE.", "TWO ARE THERE.+"]
    assert second.hypotheses[0].ids == [7, 7, 7] and second.hypotheses[0].score == -0.5


def test_hypotheses_of_parts_become_one_of_the_text() -> None:
    options = {"length_penalty": 1.0, "replace_unk": True}
    [[best, second]] = SentenceTranslator(Shouting()).translate_n_best([TEXT], **options)
    assert best.text == " ONE IS. TWO ARE THERE.\n\nTHREE. "
    # The last part has one hypothesis only.
    assert second.text == " ONE IS.+ TWO ARE THERE.+\n\nTHREE. "
    assert (len(second.ids), second.log_probability) == (6, -5.0)
    assert second.score == -5.0 / length_penalty(9, SearchOptions(length_penalty=1.0))


def test_a_text_of_one_part_keeps_its_hypothesis() -> None:
    [[best, _]] = SentenceTranslator(Shouting()).translate_n_best([" One is.\n"])
    assert best == Hypothesis(" ONE IS.\n", [7, 7], -0.5, -1.0)


def test_a_prefix_begins_the_text() -> None:
    splitting = SentenceTranslator(Shouting())
    found = splitting.translate(["One is. Two are.", "Three."], target_prefixes=["so ", ""])
    assert found == ["SO ONE IS. TWO ARE.", "THREE."]
    with pytest.raises(ValueError, match="got 1 target_prefixes for 2 texts"):
        splitting.translate(["One.", "Two."], target_prefixes=["so "])


@pytest.mark.parametrize("method", ["translate", "translate_n_best"])
def test_a_prefix_that_cannot_be_is_named_by_its_text(monkeypatch, method: str) -> None:
    def refuse(texts: list[str], **options: Any) -> None:
        raise PrefixError(texts.index("Three."), "has 9 tokens.")

    shouting = Shouting()
    monkeypatch.setattr(shouting, method, refuse)
    with pytest.raises(PrefixError, match="the prefix of sentence 1 has 9 tokens") as caught:
        getattr(SentenceTranslator(shouting), method)(
            ["One is. Two are.", "Three."], target_prefixes=["", "so "]
        )
    assert caught.value.index == 1


def test_what_cannot_be_joined_is_refused() -> None:
    splitting = SentenceTranslator(Shouting())
    with pytest.raises(ValueError, match="ask translate_parts for it"):
        splitting.translate_n_best(["One. Two."], return_attention=True)
    with pytest.raises(TypeError, match="texts must be a list of strings"):
        splitting.translate("One. Two.")
