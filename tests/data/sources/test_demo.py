"""The demo corpus as a whole: unchanged, deterministic, distinct, split cleanly, well formed."""

import gzip
import hashlib
import random
import re
from collections import Counter
from importlib.resources import files

import pytest
from fresh_process import python

from keras_transformer.data.sources.demo import FILE, LARGEST, SMALLEST, demo_corpus

SIZE = 6_000
# Of the lines of the file: figures in the docs were measured with these.
LINES = "74f1cc933c95163a52f350d884cadfca99c4ba3d3d045a5cc963a189de85c770"
DIGEST_CODE = f"""
import hashlib
from keras_transformer.data.sources.demo import demo_corpus
corpus = demo_corpus({SIZE}, seed=3)
lines = [s for split in (corpus.train, corpus.valid, corpus.test) for s in split.source]
lines += [s for split in (corpus.train, corpus.valid, corpus.test) for s in split.target]
print(hashlib.sha256("\\n".join(lines).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def rows():
    """Part, English and Spanish of each line of the shipped file."""
    packed = files("keras_transformer.data.sources").joinpath(FILE).read_bytes()
    return [line.split("\t") for line in gzip.decompress(packed).decode().splitlines()]


@pytest.fixture(scope="module")
def corpus():
    return demo_corpus(SIZE, seed=3)


def splits(corpus):
    return corpus.train, corpus.valid, corpus.test


def sentences(corpus, side):
    return [sentence for split in splits(corpus) for sentence in getattr(split, side)]


def test_the_file_is_the_one_that_the_figures_were_measured_with(rows):
    text = "".join("\t".join(row) + "\n" for row in rows)
    assert hashlib.sha256(text.encode()).hexdigest() == LINES


def test_each_line_has_a_part_and_two_sentences(rows):
    assert {len(row) for row in rows} == {3}
    parts = Counter(part for part, _, _ in rows)
    assert parts == {"phrase": 133, "train": 38_867, "valid": 500, "test": 500}


def test_sentences_are_spaced_capitalized_and_punctuated(rows):
    for _, *pair in rows:
        for sentence in pair:
            assert sentence == " ".join(sentence.split())
            assert sentence[-1] in ".?!"
            assert sentence.lstrip("¿¡")[0].isupper()
            assert " ," not in sentence


def test_spanish_question_and_exclamation_marks_are_balanced(rows):
    for _, english, spanish in rows:
        for opening, closing in ("¿?", "¡!"):
            assert spanish.count(opening) == spanish.count(closing) == english.count(closing)
            assert spanish.find(opening) <= spanish.find(closing)


def test_no_spanish_contraction_is_missed(rows):
    forbidden = re.compile(
        r"\b(a|de) el\b|\by (i|hi(?!e))|\ba a\b|\bcon (mí|ti)\b|\bpor el (mañana|tarde)\b"
    )
    assert [spanish for _, _, spanish in rows if forbidden.search(spanish.lower())] == []


def test_the_same_seed_gives_the_same_corpus_under_any_hash_seed(corpus):
    lines = sentences(corpus, "source") + sentences(corpus, "target")
    digests = {hashlib.sha256("\n".join(lines).encode()).hexdigest()}
    for hash_seed in ("0", "4711"):
        result = python("-c", DIGEST_CODE, PYTHONHASHSEED=hash_seed)
        digests.add(result.stdout.strip())
    assert len(digests) == 1


def test_another_seed_chooses_other_sentences_and_another_order(corpus):
    other = demo_corpus(SIZE, seed=4)
    assert len(set(other.train.source) & set(corpus.train.source)) < SIZE / 4
    assert set(other.test.source) != set(corpus.test.source)
    whole, shuffled = demo_corpus().train, demo_corpus(seed=4).train
    assert whole.source != shuffled.source
    assert sorted(whole.source) == sorted(shuffled.source)


def test_the_global_random_state_is_neither_read_nor_changed():
    random.seed(1)
    before = random.getstate()
    first = demo_corpus(300)
    assert random.getstate() == before
    random.seed(2)
    assert demo_corpus(300) == first


def test_the_default_corpus_has_forty_thousand_distinct_sentences():
    corpus = demo_corpus()
    assert [len(split) for split in splits(corpus)] == [39_000, 500, 500]
    assert len(set(sentences(corpus, "source"))) == 40_000


@pytest.mark.parametrize("size", [SMALLEST, 333, 2_000, 20_000])
def test_the_splits_add_up_to_the_size_and_hold_out_a_twentieth_each(size):
    corpus = demo_corpus(size)
    assert sum(len(split) for split in splits(corpus)) == size
    assert len(corpus.valid) == len(corpus.test) == min(size // 20, 500)


@pytest.mark.parametrize("side", ["source", "target"])
def test_no_sentence_stands_in_two_splits(corpus, side):
    train, valid, test = (set(getattr(split, side)) for split in splits(corpus))
    assert not train & valid
    assert not train & test
    assert not valid & test


def test_no_english_sentence_occurs_twice(corpus):
    counts = Counter(sentences(corpus, "source"))
    assert counts.most_common(1)[0][1] == 1


def test_the_greeting_and_every_fixed_phrase_are_in_training(rows, corpus):
    pairs = set(zip(corpus.train.source, corpus.train.target, strict=True))
    assert ("Hello, how are you?", "Hola, ¿cómo estás?") in pairs
    assert {(english, spanish) for part, english, spanish in rows if part == "phrase"} <= pairs


def test_the_greeting_is_in_the_smallest_corpus():
    assert "Hello, how are you?" in demo_corpus(SMALLEST).train.source


def test_most_sentences_have_four_to_fourteen_words(corpus):
    lengths = [len(sentence.split()) for sentence in sentences(corpus, "source")]
    assert sum(4 <= length <= 14 for length in lengths) > 0.9 * len(lengths)
    assert max(lengths) <= 40


def test_the_vocabulary_is_small_and_its_words_are_frequent():
    corpus = demo_corpus()
    words = Counter(
        word for text in corpus.train.source for word in re.findall(r"[a-z']+", text.lower())
    )
    assert len(words) < 1_500
    assert sum(count < 10 for count in words.values()) < len(words) / 10


@pytest.mark.parametrize("size", [0, SMALLEST - 1, LARGEST + 1, -5])
def test_a_size_out_of_range_is_refused(size):
    with pytest.raises(ValueError, match=rf"size must be between 100 and 40000 pairs, got {size}"):
        demo_corpus(size)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 1e3}, "size must be an integer, got float"),
        ({"size": True}, "size must be an integer, got bool"),
        ({"seed": "0"}, "seed must be an integer, got str"),
    ],
)
def test_arguments_of_the_wrong_type_are_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        demo_corpus(**arguments)
