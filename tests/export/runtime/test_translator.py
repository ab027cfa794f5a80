"""OnnxTranslator: order, empty texts, options, long outputs, and a life without TensorFlow."""

import os
import subprocess
import sys

import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.decoding.translator import Translator
from keras_transformer.export import OnnxTranslator
from keras_transformer.export.runtime.cache import BLOCK_TOKENS

ALONE = """
import sys

BLOCKED = ("tensorflow", "keras", "tf2onnx", "onnx", "jax", "tensorflow_text", "sacrebleu")


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
from keras_transformer.export import OnnxTranslator

print(OnnxTranslator(sys.argv[1]).translate([sys.argv[2]], beam_size=4, max_length=20)[0])
ours = [name for name in sys.modules if name.startswith("keras_transformer.")]
assert all(name.startswith("keras_transformer.export") for name in ours), ours
"""


@pytest.fixture(scope="module")
def translator(exported) -> OnnxTranslator:
    return OnnxTranslator(exported.path)


def test_it_runs_where_only_numpy_onnxruntime_and_sentencepiece_are(exported, translator) -> None:
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
def test_a_batch_equals_its_sentences_in_their_order(translator, texts, beam_size, data) -> None:
    chosen = data.draw(st.lists(st.sampled_from([*texts, "", "  "]), min_size=1, max_size=6))
    options = {"beam_size": beam_size, "max_length": 15}
    together = translator.translate(chosen, **options)
    assert together == [translator.translate([text], **options)[0] for text in chosen]


def test_outputs_end_each_at_its_own_length(translator, texts) -> None:
    lengths = [len(found[0].ids) for found in translator.translate_n_best(texts, max_length=45)]
    assert len(set(lengths)) > 3
    assert max(lengths) < 45


def test_other_sessions_and_other_thread_counts_live_beside_it(exported, translator, texts) -> None:
    onnxruntime.InferenceSession(str(exported.path / "encoder.onnx"))
    other = OnnxTranslator(exported.path, threads=1)
    assert other.translate(texts, max_length=15) == translator.translate(texts, max_length=15)


def test_texts_without_tokens_have_empty_translations(translator) -> None:
    [found] = translator.translate_n_best([" "], beam_size=3, num_hypotheses=3)
    assert [(one.text, one.ids, one.score) for one in found] == [("", [], 0.0)]
    assert translator.translate([]) == []


def test_the_n_best_are_sorted_and_distinct(translator, texts) -> None:
    for found in translator.translate_n_best(texts, beam_size=4, num_hypotheses=4, max_length=20):
        scores = [one.score for one in found]
        assert len(found) == 4
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(one.ids) for one in found}) == 4


@pytest.mark.parametrize("beam_size", [1, 4])
def test_outputs_longer_than_the_first_buffers_equal_keras(
    make_model, tokenizer, tmp_path, beam_size
):
    from keras_transformer.export import export_onnx

    model = make_model()
    [matrix] = [weight for weight in model.weights if weight.path.endswith("tokens/matrix")]
    values = matrix.numpy()
    values[3] = 0  # An end token that never wins makes every output as long as it may be.
    matrix.assign(values)
    runtime = OnnxTranslator(export_onnx(model, tokenizer, tmp_path / "artefact"))
    options = {"beam_size": beam_size, "max_length": 2 * BLOCK_TOKENS + 5}
    sources = tokenizer.encode(["hello", "we see three birds"])
    wanted = Translator(model, tokenizer).translate_ids(sources, **options)
    found = runtime.translate_ids(sources, **options)
    assert [[one[0] for one in few] for few in found] == [[one[0] for one in few] for few in wanted]
    assert max(len(few[0][0]) for few in found) > 2 * BLOCK_TOKENS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_size": 0}, "beam_size must be at least 1, got 0"),
        ({"beam_size": 2, "num_hypotheses": 3}, "num_hypotheses"),
        ({"max_length": 0}, "max_length must be at least 1, got 0"),
        ({"length_penalty": float("nan")}, "length_penalty must be finite"),
    ],
)
def test_wrong_options_are_named(translator, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        translator.translate_n_best(["hello"], **options)


def test_one_string_instead_of_a_list_is_refused(translator) -> None:
    with pytest.raises(TypeError, match="write \\[text\\]"):
        translator.translate("hello")


@pytest.mark.parametrize("threads", [0, -1])
def test_a_wrong_number_of_threads_is_refused(exported, threads) -> None:
    with pytest.raises(ValueError, match=f"threads must be at least 1, got {threads}"):
        OnnxTranslator(exported.path, threads=threads)
