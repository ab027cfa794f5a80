"""Scores: known values, signatures, errors."""

import json

import pytest
from fresh_process import python

from keras_transformer.evaluation import corpus_scores, exact_match

REFERENCES = ["The quick brown fox jumps over the lazy dog.", "Hello, how are you today?"]


def test_a_perfect_corpus_scores_100():
    scores = corpus_scores(REFERENCES, REFERENCES)
    assert scores.bleu == 100.0
    assert scores.chrf == 100.0


def test_bleu_is_the_one_computed_by_hand():
    # Tokens: a b c d e against a b c d f: precisions 4/5, 3/4, 2/3, 1/2, no brevity penalty.
    scores = corpus_scores(["a b c d e"], ["a b c d f"])
    assert scores.bleu == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)


def test_bleu_is_of_the_corpus_not_the_mean_of_sentences():
    hypotheses = [REFERENCES[0], "x"]
    mean = sum(
        corpus_scores([h], [r]).bleu for h, r in zip(hypotheses, REFERENCES, strict=True)
    ) / len(REFERENCES)
    assert abs(corpus_scores(hypotheses, REFERENCES).bleu - mean) > 1


def test_case_counts():
    assert corpus_scores([r.lower() for r in REFERENCES], REFERENCES).bleu < 90


def test_signatures_tell_how_the_scores_came_about():
    scores = corpus_scores(REFERENCES, REFERENCES)
    for part in ("nrefs:1", "case:mixed", "tok:13a", "smooth:exp", "version:"):
        assert part in scores.bleu_signature
    for part in ("nrefs:1", "case:mixed", "nc:6", "nw:0", "version:"):
        assert part in scores.chrf_signature
    assert scores.bleu_signature in str(scores)
    assert json.loads(json.dumps(scores.as_dict())) == scores.as_dict()


def test_empty_translations_are_allowed():
    scores = corpus_scores(["", ""], REFERENCES)
    assert scores.bleu == 0.0
    assert scores.chrf == 0.0


@pytest.mark.parametrize(
    ("hypotheses", "expected"),
    [(["a", "b"], 1.0), (["a", "c"], 0.5), (["A", ""], 0.0), ([" a\n", "b "], 1.0)],
)
def test_exact_match_is_the_fraction_of_equal_texts(hypotheses, expected):
    assert exact_match(hypotheses, ["a", "b"]) == expected


@pytest.mark.parametrize("score", [corpus_scores, exact_match])
def test_counts_must_match_and_not_be_zero(score):
    with pytest.raises(ValueError, match="must be equally many, got 1 and 2"):
        score(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="at least one sentence, got none"):
        score([], [])


@pytest.mark.parametrize("score", [corpus_scores, exact_match])
def test_one_bare_string_is_refused(score):
    with pytest.raises(TypeError, match="references must be a sequence of strings"):
        score(["a"], "a")


def test_without_sacrebleu_the_error_tells_what_to_install():
    code = (
        "import sys\n"
        "from keras_transformer.evaluation import corpus_scores, exact_match\n"
        "assert 'sacrebleu' not in sys.modules and exact_match(['a'], ['a']) == 1\n"
        "sys.modules['sacrebleu'] = sys.modules['sacrebleu.metrics'] = None\n"
        "try: corpus_scores(['a'], ['a'])\n"
        "except ImportError as error: print(error)"
    )
    done = python("-c", code)
    assert 'pip install "keras-seq2seq-transformer[cli]"' in done.stdout
