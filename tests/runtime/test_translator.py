"""OnnxTranslator: what only an artefact has: threads, memory, and a life without TensorFlow. What
it shares with the Keras side is in tests/translation."""

from typing import Any

import onnxruntime
import pytest
from fresh_process import python

from keras_transformer.export import OnnxTranslator

ALONE = """
import sys

BLOCKED = ("tensorflow", "keras", "tf2onnx", "onnx", "jax", "tensorflow_text", "sacrebleu")
SHARED = (
    "search", "search.confidence", "search.model_limits", "search.named_ids",
    "search.options", "search.random_numbers",
    "config", "config.checks", "config.embedding", "config.sentence_marks", "config.special_ids",
    "config.block_options", "config.stack", "config.families", "config.family",
    "config.single_stack", "config.encoder_only", "config.decoder_only", "artefact.config_fields",
    "config.transformer", "serializable", "text", "text.passage", "text.sentences",
    "text.tokenizer",
    "text.training_feed", "text.training_text", "whole_files",
    "text.subwords", "text.subwords.interface", "text.subwords.json_decoders",
    "text.subwords.json_special_ids", "text.subwords.opening", "text.subwords.symbols_apart",
    "text.subwords.sentencepiece_model", "text.subwords.sentencepiece_stream",
    "text.subwords.tokenizer_json", "distribution",
    "artefact", "artefact.entries", "artefact.files", "artefact.graph_names", "artefact.manifest",
    "artefact.shortlist",
    "translation", "translation.asked", "translation.engine", "translation.marked",
    "translation.results",
    "translation.text_search", "translation.text_ids", "translation.translator",
    "translation.unknown_words", "translation.written",
    "markup", "markup.addresses", "markup.backtracking", "markup.casing", "markup.lifting",
    "markup.markdown", "markup.nesting",
    "markup.placeholders", "markup.profiles", "markup.spans", "markup.tags", "markup.terms",
    "text.subwords.accelerators",
    "text.subwords.attributes",
    "text.subwords.slots",
    "config.text_vectors", "control_groups", "cores", "messages", "path_kinds", "suggestions",
    "telemetry", "search.distinct", "search.keywords", "search.memory", "search.stops",
    "search.grammars",
    "text.letterless", "search.phrase_banks", "search.phrases",
    "markup.required", "markup.soft_terms", "markup.soft_terms.annotation",
    "translation.required",
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
unexpected = others - {f"keras_transformer.{name}" for name in SHARED}
assert not unexpected, unexpected
"""


@pytest.fixture(scope="module")
def translator(exported: Any) -> OnnxTranslator:
    return OnnxTranslator(exported.path, threads=1)


def test_it_runs_where_only_numpy_onnxruntime_and_sentencepiece_are(
    exported: Any, translator: OnnxTranslator
) -> None:
    text = "the red dog runs to the house"
    result = python("-c", ALONE, exported.path, text)
    assert result.stdout == translator.translate([text], beam_size=4, max_length=20)[0] + "\n"


def test_other_sessions_and_other_thread_counts_live_beside_it(
    exported: Any, translator: OnnxTranslator, texts: list[str]
) -> None:
    onnxruntime.InferenceSession(str(exported.path / "encoder.onnx"))
    other = OnnxTranslator(exported.path, threads=3)
    assert other.translate(texts, max_length=15) == translator.translate(texts, max_length=15)


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
