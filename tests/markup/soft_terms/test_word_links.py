"""Words that occur together are linked, in texts of any length."""

from keras_transformer.markup.soft_terms.word_links import word_links, words_in

PAIRS = [
    ("the dog", "der Hund"),
    ("the cat", "die Katze"),
    ("a dog", "ein Hund"),
    ("a cat", "eine Katze"),
]


def test_words_that_occur_together_are_linked() -> None:
    sides = ([words_in(text) for text in side] for side in zip(*PAIRS, strict=True))
    assert all((1, 1) in own for own in word_links(*sides))


def test_a_text_without_words_has_no_links() -> None:
    assert word_links([["dog"], []], [["Hund"], ["Katze"]]) == [{(0, 0)}, set()]
