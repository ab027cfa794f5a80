"""The demo corpus's grammar: one translation a sentence, well-formed text, the shipped file."""

import gzip
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.demo_corpus import HELD_OUT, demo_lines
from tools.demo_corpus.grammar import PATTERNS, random_sentence
from tools.demo_corpus.nouns import NOUNS
from tools.demo_corpus.phrases import PHRASES

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def drawn():
    """Sentences straight from the grammar, repeats included."""
    rng = random.Random(17)
    return [random_sentence(rng) for _ in range(20_000)]


def test_every_english_sentence_has_one_translation(drawn):
    translations = dict(PHRASES)
    assert len(translations) == len(PHRASES)
    clashes = [
        (english, spanish, translations[english])
        for english, spanish in drawn
        if translations.setdefault(english, spanish) != spanish
    ]
    assert clashes == []


def test_sentences_are_spaced_capitalized_and_punctuated(drawn):
    for sentence in (sentence for pair in [*drawn, *PHRASES] for sentence in pair):
        assert sentence == " ".join(sentence.split())
        assert sentence[-1] in ".?!"
        assert sentence.lstrip("¿¡")[0].isupper()
        assert " ," not in sentence
        assert " ." not in sentence


def test_spanish_question_and_exclamation_marks_are_balanced(drawn):
    for english, spanish in [*drawn, *PHRASES]:
        for opening, closing in ("¿?", "¡!"):
            assert spanish.count(opening) == spanish.count(closing) == english.count(closing)
            assert spanish.find(opening) <= spanish.find(closing)


def test_no_spanish_contraction_is_missed(drawn):
    forbidden = re.compile(
        r"\b(a|de) el\b|\by (i|hi(?!e))|\ba a\b|\bcon (mí|ti)\b|\bpor el (mañana|tarde)\b"
    )
    assert [spanish for _, spanish in drawn if forbidden.search(spanish.lower())] == []


def test_articles_agree_with_the_noun_after_them(drawn):
    """An independent look at the text: article and next word, against the lexicon's gender."""
    forms = {}
    for noun in (noun for nouns in NOUNS.values() for noun in nouns):
        forms.setdefault(noun.spanish, set()).add((noun.feminine, False, noun.stressed_a))
        forms.setdefault(noun.spanish_plural, set()).add((noun.feminine, True, noun.stressed_a))
    articles = {
        word: (feminine, plural)
        for feminine, plural, words in (
            (False, False, "el un este ese otro nuestro al del ningún algún"),
            (True, False, "la una esta esa otra nuestra ninguna alguna"),
            (False, True, "los unos estos esos muchos nuestros"),
            (True, True, "las unas estas esas muchas nuestras"),
        )
        for word in words.split()
    }
    checked = 0
    for _, spanish in drawn:
        words = re.findall(r"\w+", spanish.lower())
        for article, word in zip(words, words[1:], strict=False):
            # "lo" and "la" are also object pronouns, but never right before a noun.
            if article not in articles or word not in forms:
                continue
            feminine, plural = articles[article]
            allowed = {
                (gender and not (stressed_a and article in "el un al del ningún algún"), number)
                for gender, number, stressed_a in forms[word]
            }
            if word == "paraguas":
                allowed = {(False, False), (False, True)}
            assert (feminine, plural) in allowed, spanish
            checked += 1
    assert checked > 5_000


def test_every_pattern_is_used():
    rng = random.Random(0)
    for pattern, weight in PATTERNS:
        assert weight > 0
        assert len({pattern(rng) for _ in range(50)}) > 25, pattern.__name__


def test_the_grammar_still_makes_the_file_that_the_package_ships():
    shipped = ROOT / "keras_transformer" / "data" / "sources" / "demo_corpus.tsv.gz"
    assert gzip.decompress(shipped.read_bytes()).decode().splitlines() == demo_lines()


def test_the_command_writes_a_corpus_of_another_size_and_seed(tmp_path):
    output = tmp_path / "corpus.tsv.gz"
    command = [sys.executable, "-m", "tools.demo_corpus", "--pairs", "2000", "--seed", "3"]
    subprocess.run([*command, str(output)], cwd=ROOT, check=True)
    lines = gzip.decompress(output.read_bytes()).decode().splitlines()
    assert lines == demo_lines(2_000, seed=3)
    parts = [line.split("\t")[0] for line in lines]
    assert [parts.count(part) for part in ("phrase", "valid", "test")] == [
        len(PHRASES),
        HELD_OUT,
        HELD_OUT,
    ]


def test_the_command_refuses_fewer_pairs_than_it_holds_out(tmp_path):
    command = [sys.executable, "-m", "tools.demo_corpus", "--pairs", "1000", str(tmp_path / "c.gz")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 2
    assert "--pairs must be at least 1134, got 1000" in result.stderr
