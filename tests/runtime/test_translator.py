"""OnnxTranslator: text in, text out, as the Keras side has it; order, prefixes, samples, streams,
and a life without TensorFlow."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.export import OnnxTranslator

ALONE = """
import sys

BLOCKED = ("tensorflow", "keras", "tf2onnx", "onnx", "jax", "tensorflow_text", "sacrebleu")
SHARED = (
    "search", "search.confidence", "search.inputs", "search.options", "search.random_numbers",
    "special_ids", "serializable", "text", "text.sentences", "text.training_text", "artefact",
    "artefact.manifest",
)


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
from keras_transformer.export import OnnxTranslator

print(OnnxTranslator(sys.argv[1]).translate([sys.argv[2]], beam_size=4, max_length=20)[0])
ours = {name for name in sys.modules if name.startswith("keras_transformer.")}
rooms = ("keras_transformer.export", "keras_transformer.runtime")
others = {name for name in ours if not name.startswith(rooms)}
assert others <= {f"keras_transformer.{name}" for name in SHARED}, others
"""


@pytest.fixture(scope="module")
def translator(exported: Any) -> OnnxTranslator:
    return OnnxTranslator(exported.path, threads=1)


def test_it_runs_where_only_numpy_onnxruntime_and_sentencepiece_are(
    exported: Any, translator: OnnxTranslator
) -> None:
    text = "the red dog runs to the house"
    result = subprocess.run(
        [sys.executable, "-c", ALONE, str(exported.path), text],
        capture_output=True,
        text=True,
        env=dict(os.environ),
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == translator.translate([text], beam_size=4, max_length=20)[0] + "\n"


@settings(max_examples=15)
@given(data=st.data())
@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_batch_equals_its_sentences_in_their_order(
    translator: OnnxTranslator, texts: list[str], beam_size: int, data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.sampled_from([*texts, "", "  "]), min_size=1, max_size=6))
    options = {"beam_size": beam_size, "max_length": 15}
    together = translator.translate(chosen, **options)
    assert together == [translator.translate([text], **options)[0] for text in chosen]


def test_outputs_end_each_at_its_own_length(translator: OnnxTranslator, texts: list[str]) -> None:
    lengths = [len(found[0].ids) for found in translator.translate_n_best(texts, max_length=45)]
    assert len(set(lengths)) > 3
    assert max(lengths) < 45


def test_other_sessions_and_other_thread_counts_live_beside_it(
    exported: Any, translator: OnnxTranslator, texts: list[str]
) -> None:
    onnxruntime.InferenceSession(str(exported.path / "encoder.onnx"))
    other = OnnxTranslator(exported.path, threads=3)
    assert other.translate(texts, max_length=15) == translator.translate(texts, max_length=15)


def test_texts_without_tokens_have_empty_translations(translator: OnnxTranslator) -> None:
    [found] = translator.translate_n_best([" "], beam_size=3, num_hypotheses=3)
    assert [(one.text, one.ids, one.score) for one in found] == [("", [], 0.0)]
    assert translator.translate([]) == []
    assert translator.translate([" "], replace_unk=True) == [""]
    assert list(translator.translate_stream("")) == []


def test_the_n_best_are_sorted_and_distinct(translator: OnnxTranslator, texts: list[str]) -> None:
    for found in translator.translate_n_best(texts, beam_size=4, num_hypotheses=4, max_length=20):
        scores = [one.score for one in found]
        assert len(found) == 4
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(one.ids) for one in found}) == 4


def test_ids_give_what_their_texts_give(
    exported: Any, translator: OnnxTranslator, texts: list[str]
) -> None:
    options = {"beam_size": 2, "num_hypotheses": 2, "max_length": 20}
    wanted = translator.translate_n_best(texts, **options)
    sources = exported.source_tokenizer.encode(texts)
    found = translator.translate_ids(np.array(sources[0])[None], **options)
    found += translator.translate_ids(sources[1:], **options)
    for candidates, hypotheses in zip(found, wanted, strict=True):
        assert [one.ids for one in candidates] == [one.ids for one in hypotheses]
    unscored = translator.translate_ids(sources, return_scores=False)
    assert [one.ids for [one] in unscored] == [
        one.ids for [one] in translator.translate_n_best(texts)
    ]


# Beginnings, samples, streams.


@pytest.mark.parametrize("options", [{}, {"beam_size": 3}, {"sample": True, "seed": 1}], ids=str)
def test_translations_begin_with_their_prefixes(
    translator: OnnxTranslator, texts: list[str], options: dict[str, Any]
) -> None:
    prefixes = ["the river", "", "hello, you", "we", "", "birds"]
    found = translator.translate(texts, target_prefixes=prefixes, **options)
    assert all(text.startswith(prefix) for text, prefix in zip(found, prefixes, strict=True))
    free = translator.translate(texts, **options)
    assert [found[place] for place in (1, 4)] == [free[place] for place in (1, 4)]


def test_samples_depend_on_the_seed_and_the_place_only(
    exported: Any, translator: OnnxTranslator, texts: list[str]
) -> None:
    def sample(translator: OnnxTranslator, texts: list[str], seed: int | None) -> list[list[str]]:
        found = translator.translate_n_best(
            texts, sample=True, num_hypotheses=3, seed=seed, temperature=2.0, max_length=15
        )
        return [[one.text for one in samples] for samples in found]

    first = sample(translator, texts, 7)
    assert sample(translator, texts, 7) == first
    assert sample(translator, texts[:2], 7) == first[:2]
    with OnnxTranslator(exported.path, threads=1, batch_tokens=1) as other:
        assert sample(other, texts, 7) == first
    assert sample(translator, texts, 8) != first
    assert len({*map(str, [sample(translator, texts, None) for _ in range(3)])}) == 3
    assert len(set(first[0])) > 1


def test_samples_are_those_of_the_keras_side(
    translator: OnnxTranslator, keras_side: Any, texts: list[str]
) -> None:
    options = {"sample": True, "num_hypotheses": 2, "seed": 3, "top_p": 0.95, "max_length": 15}
    wanted = keras_side.translate_n_best(texts, **options)
    found = translator.translate_n_best(texts, **options)
    for ours, theirs in zip(found, wanted, strict=True):
        assert [one.ids for one in ours] == [one.ids for one in theirs]
        numbers = [[one.log_probability for one in samples] for samples in (ours, theirs)]
        np.testing.assert_allclose(*numbers, atol=1e-4)


@pytest.mark.parametrize(
    "options",
    [{}, {"min_length": 30}, {"sample": True, "seed": 5}, {"max_length": 4}],
    ids=str,
)
@pytest.mark.parametrize("prefix", ["", "the river"])
def test_a_stream_s_pieces_joined_are_the_translation(
    translator: OnnxTranslator, texts: list[str], options: dict[str, Any], prefix: str
) -> None:
    for text in texts:
        chosen = {"max_length": 40, **options}
        pieces = list(translator.translate_stream(text, target_prefix=prefix, **chosen))
        [wanted] = translator.translate([text], target_prefixes=[prefix], **chosen)
        assert "".join(pieces) == wanted
        assert all(pieces)


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("hello", {"beam_size": 2}, ValueError, "beam_size 1 and num_hypotheses 1, got 2 and 1"),
        ("hello", {"sample": True, "num_hypotheses": 2}, ValueError, "got 1 and 2"),
        ("hello", {"max_length": 0}, ValueError, "max_length must be at least 1"),
        ("hello", {"target_prefix": "the river", "max_length": 2}, ValueError, "prefix"),
        (["hello"], {}, TypeError, "texts must be strings, got list"),
    ],
    ids=str,
)
def test_a_stream_refuses_at_once(
    translator: OnnxTranslator,
    text: Any,
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        translator.translate_stream(text, **options)


# What comes in.


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"beam_size": 0}, ValueError, "beam_size must be at least 1, got 0"),
        ({"beam_size": 2.5}, TypeError, "beam_size must be an integer, got 2.5"),
        ({"beam_size": 2, "num_hypotheses": 3}, ValueError, "num_hypotheses \\(3\\) is more than"),
        ({"max_length": 0}, ValueError, "max_length must be at least 1, got 0"),
        ({"max_length_ratio": 0}, ValueError, "max_length_ratio must be finite and above 0"),
        ({"min_length": -1}, ValueError, "min_length must be at least 0, got -1"),
        ({"min_length": 9, "max_length": 8}, ValueError, "min_length \\(9\\) is more than"),
        ({"length_penalty": float("nan")}, ValueError, "length_penalty must be finite"),
        ({"length_penalty_type": "mean"}, ValueError, "length_penalty_type must be one of"),
        ({"early_stopping": True}, ValueError, "early_stopping must be one of"),
        ({"no_repeat_ngram_size": -1}, ValueError, "no_repeat_ngram_size must be at least 0"),
        ({"repetition_penalty": 0}, ValueError, "repetition_penalty must be finite and above 0"),
        ({"banned_sequences": [[]]}, ValueError, "banned_sequences must hold one or more"),
        ({"banned_sequences": [[60]]}, ValueError, "banned_sequences names token 60"),
        ({"forced_tokens": [(0, 60)]}, ValueError, "forced_tokens names token 60"),
        ({"forced_tokens": [(0, 2)]}, ValueError, "forced_tokens names token 2"),
        ({"forced_tokens": [(0, 5), (0, 6)]}, ValueError, "names a position twice"),
        ({"sample": True, "beam_size": 2}, ValueError, "sample=True needs beam_size 1"),
        ({"temperature": 0.5}, ValueError, "temperature is meant for sampling"),
        ({"sample": True, "temperature": 0}, ValueError, "temperature must be finite and above 0"),
        ({"sample": True, "top_k": -1}, ValueError, "top_k must be at least 0"),
        ({"sample": True, "top_p": 1.5}, ValueError, "top_p is a probability"),
        ({"sample": True, "seed": -1}, ValueError, "seed must be at least 0"),
        ({"beams": 4}, TypeError, "beams"),
        ({"target_prefixes": ["a", "b"]}, ValueError, "got 2 prefixes for 1 sentences"),
        ({"target_prefixes": "a"}, TypeError, "target_prefixes must be a list of strings"),
        ({"target_prefixes": ["a a a"], "max_length": 3}, ValueError, "prefix of sentence 0 has"),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["translate", "translate_n_best"])
def test_wrong_options_are_named(
    translator: OnnxTranslator,
    method: str,
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        getattr(translator, method)(["hello"], **options)


def test_one_string_instead_of_a_list_is_refused(translator: OnnxTranslator) -> None:
    with pytest.raises(TypeError, match="write \\[text\\]"):
        translator.translate("hello")


def test_text_that_is_no_unicode_is_refused(translator: OnnxTranslator) -> None:
    with pytest.raises(ValueError, match="texts must be valid Unicode.* index 1"):
        translator.translate(["hello", "hel\ud800lo"])


@pytest.mark.parametrize("threads", [0, -1])
def test_a_wrong_number_of_threads_is_refused(exported: Any, threads: int) -> None:
    with pytest.raises(ValueError, match=f"threads must be at least 1, got {threads}"):
        OnnxTranslator(exported.path, threads=threads)


def test_limits_reach_the_engine(exported: Any, texts: list[str]) -> None:
    with OnnxTranslator(exported.path, threads=1) as free:
        wanted = free.translate(texts, max_length=20)
        assert free.peak_cache_bytes > 0
    limit = free.peak_cache_bytes // 3
    with OnnxTranslator(exported.path, threads=1, max_cache_bytes=limit) as bounded:
        assert bounded.translate(texts, max_length=20) == wanted
        assert 0 < bounded.peak_cache_bytes <= limit
