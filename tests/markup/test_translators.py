"""A model with random weights, which would write anything, keeps every span of real messages."""

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.markup.soft_terms.annotation import annotated
from keras_transformer.markup.spans import find_spans
from keras_transformer.markup.terms import Glossary, Term
from keras_transformer.text.subwords.slots import SLOTS, TERM_MARKS
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from keras_transformer.text.training_text import TrainingText
from keras_transformer.translation.by_sentence import SentenceTranslator

MESSAGES = [
    "cannot open %s: %d files",
    "delete <b>all</b> files? see http://a.org/b.",
    "open {name} &amp; %(other)s\\n",
    "all files",
    "%s",
    "",
    "<p>open <i>%1$s</i></p>. see <b>files</b>!",
]
SEARCHES: list[dict[str, Any]] = [{}, {"beam_size": 3, "num_hypotheses": 3}]
LIMITS: dict[str, Any] = {"max_length": 14}


def spans_of(text: str) -> Counter[str]:
    # Breaks that have become neighbours are one span.
    return Counter(span.text for span in find_spans(text.replace("\\n", "\\n ")))


@pytest.fixture(scope="module")
def slot_tokenizer() -> Tokenizer:
    texts = [*MESSAGES, "".join(SLOTS)]
    return train_tokenizer(texts, 120, "bpe", has_slots=True, has_term_marks=True)


@pytest.fixture(scope="module")
def slot_model(slot_tokenizer: Tokenizer, randomize: Callable[..., Any]) -> Any:
    from keras_transformer.models import build_transformer

    config = TransformerConfig(
        source_vocab_size=slot_tokenizer.vocab_size,
        special_ids=slot_tokenizer.special_ids,
        model_dim=16,
        feed_forward_dim=24,
        num_heads=2,
        num_encoder_layers=1,
        num_decoder_layers=1,
    )
    return randomize(build_transformer(config))


SEEN = TrainingText(longest_source=30, sentences=(1,), markup="auto", soft_terms=0.5)


@pytest.fixture(scope="module")
def artefact(
    slot_model: Any, slot_tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    from keras_transformer.export import export_onnx

    path = tmp_path_factory.mktemp("exported") / "slots"
    return export_onnx(slot_model, slot_tokenizer, path, training_text=SEEN)


@pytest.fixture(scope="module", params=["native", "onnxruntime"])
def onnx_side(artefact: Path, request: pytest.FixtureRequest) -> Any:
    from keras_transformer.export import OnnxTranslator

    return OnnxTranslator(artefact, threads=1, target=request.param)


@pytest.fixture(scope="module")
def keras_side(slot_model: Any, slot_tokenizer: Tokenizer) -> Any:
    from keras_transformer.decoding.translator import Translator

    return Translator(slot_model, slot_tokenizer, training_text=SEEN)


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_every_hypothesis_has_every_span_once_and_engines_agree(
    onnx_side: Any, keras_side: Any, search: dict[str, Any]
) -> None:
    found, wanted = (
        side.translate_n_best(MESSAGES, **search, **LIMITS) for side in (onnx_side, keras_side)
    )
    for message, own, others in zip(MESSAGES, found, wanted, strict=True):
        assert [(one.text, one.ids) for one in own] == [(one.text, one.ids) for one in others]
        assert [spans_of(one.text) for one in own] == [spans_of(message)] * len(own)


def test_texts_of_several_sentences_and_streams_keep_their_spans(onnx_side: Any) -> None:
    texts = [" ".join(MESSAGES[:3] + MESSAGES[6:])]
    found = SentenceTranslator(onnx_side).translate_n_best(texts, **LIMITS)
    assert spans_of(found[0][0].text) == spans_of(texts[0])
    for message in MESSAGES[:3]:
        streamed = "".join(onnx_side.translate_stream(message, **LIMITS))
        assert spans_of(streamed) == spans_of(message)


def test_a_given_beginning_holds_its_spans_and_no_span_twice(onnx_side: Any) -> None:
    message, begin = "open <b>%1$s</b> &amp; {name}", "<b>files {name}"
    for translator in (onnx_side, SentenceTranslator(onnx_side)):
        [found] = translator.translate([message], target_prefixes=[begin], max_length=20)
        assert spans_of(found) == spans_of(message)
    streamed = "".join(onnx_side.translate_stream(message, target_prefix="{name}", **LIMITS))
    assert spans_of(streamed) == spans_of(message)


def test_given_translations_are_scored_with_their_slots(
    onnx_side: Any, slot_tokenizer: Tokenizer
) -> None:
    sides = ["delete %s files"], ["files %s all %s"]
    ids = slot_tokenizer.encode([f"delete {SLOTS[0]} files", f"files {SLOTS[0]} all %s"])
    [scored] = onnx_side.score(*sides)
    assert scored.text == sides[1][0]
    assert [(scored.ids, scored.score, scored.log_probability)] == onnx_side.score_ids(
        ids[:1], ids[1:]
    )


def test_texts_with_slots_share_no_batch_with_others(
    onnx_side: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from keras_transformer.runtime.loop import constraints

    asked = []

    class Recorded(constraints.SlotConstraint):
        def __init__(self, request: Any) -> None:
            super().__init__(request)
            asked.append(self._asked.any(axis=1).tolist())

    monkeypatch.setattr(constraints, "SlotConstraint", Recorded)
    onnx_side.translate(["a file", "open %s", "all files", "%s {x} open"], **LIMITS)
    assert sorted(asked) == [[False, False], [True, True]]


def test_what_had_no_room_is_told(onnx_side: Any) -> None:
    [[lost], [kept]] = onnx_side.translate_n_best(["%s %d %u open", "all files"], max_length=2)
    assert lost.low_confidence is True
    assert not kept.low_confidence
    [[plain]] = onnx_side.translate_n_best(["all %s files"], max_length=1)
    assert plain.text == "%s" and plain.low_confidence is None


TERMS = Glossary((Term("file", "Datei"), Term("files", "Dateien"), Term("open", "öffnen")))


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_every_hypothesis_has_every_term_and_span(
    artefact: Path, slot_model: Any, slot_tokenizer: Tokenizer, search: dict[str, Any]
) -> None:
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.export import OnnxTranslator

    sides = (
        OnnxTranslator(artefact, threads=1, glossary=TERMS),
        Translator(slot_model, slot_tokenizer, training_text=SEEN, glossary=TERMS),
    )
    found, wanted = (side.translate_n_best(MESSAGES, **search, **LIMITS) for side in sides)
    for message, own, others in zip(MESSAGES, found, wanted, strict=True):
        assert [one.text for one in own] == [one.text for one in others]
        for one in own:
            # A random model writes a "%" and a "1", too.
            assert spans_of(message) <= spans_of(one.text)
            assert one.text.count("Dateien") == message.count("files")
            assert one.text.lower().count("öffnen") == message.count("open")


@pytest.mark.parametrize("terms", ["soft", pytest.param("both", marks=pytest.mark.exhaustive)])
def test_soft_terms_are_read_and_no_mark_is_written(
    artefact: Path, slot_model: Any, slot_tokenizer: Tokenizer, terms: Any
) -> None:
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.export import OnnxTranslator

    own: dict[str, Any] = {"glossary": Glossary((Term("files", "open"),)), "terms": terms}
    sides = (
        OnnxTranslator(artefact, threads=1, **own),
        Translator(slot_model, slot_tokenizer, training_text=SEEN, **own),
    )
    assert sides[0].lift is not None
    assert sides[0].lift(MESSAGES[3]).text == annotated(MESSAGES[3], [(9, "open")])
    found, wanted = (side.translate_n_best(MESSAGES, beam_size=2, **LIMITS) for side in sides)
    for message, [one], [other] in zip(MESSAGES, found, wanted, strict=True):
        assert (one.text, one.ids) == (other.text, other.ids)
        assert not set(TERM_MARKS) & set(one.text) and spans_of(message) <= spans_of(one.text)
    [read] = found[3]
    assert ("open" in read.text, bool(read.low_confidence)) == (terms == "both", terms == "soft")


def test_soft_terms_of_a_model_without_them_are_refused(
    slot_model: Any, slot_tokenizer: Tokenizer
) -> None:
    from keras_transformer.decoding.translator import Translator

    with pytest.raises(ValueError, match="terms='soft' needs a model that was trained with soft"):
        Translator(slot_model, slot_tokenizer, glossary=TERMS, terms="soft")


def test_a_request_to_the_server_fills_slots_with_terms(artefact: Path) -> None:
    from served_models import answer, open_served

    model = open_served(artefact, LIMITS, threads=1)
    given = {"text": ["all files"] * 2, "glossary": [["files\tDateien"], [""]]}
    [[first], [second]] = answer(model, "translate_n_best", **given)["translations"]
    assert b"Dateien" in first and b"Dateien" not in second


def test_a_server_reads_the_soft_terms_of_a_request(artefact: Path) -> None:
    from served_models import answer, open_served

    from keras_transformer.export import OnnxTranslator

    model = open_served(artefact, LIMITS, threads=1, terms="soft")
    found = answer(model, "translate_n_best", text=["all files"], glossary=[["files\topen"]])
    listed = Glossary((Term("files", "open"),))
    [[one]] = OnnxTranslator(artefact, threads=1, glossary=listed, terms="soft").translate_n_best(
        ["all files"], **LIMITS
    )
    assert found["translations"][0][0].decode() == one.text
    assert bool(found["low_confidence"][0][0]) is bool(one.low_confidence)


def test_translate_takes_a_glossary_and_names_a_bad_line(
    artefact: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    from keras_transformer.cli import main

    terms = tmp_path / "terms.tsv"
    command = ["translate", str(artefact), "--glossary", str(terms), "--max-length", "14"]
    terms.write_text("file|files\tDatei|Dateien\n", "utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"all files\n")))
    assert main(command) == 0 and "Dateien" in capfd.readouterr().out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"all files\n")))
    assert main([*command, "--terms", "soft", "--alignments"]) == 0
    assert "Dateien" not in capfd.readouterr().out
    terms.write_text("file|files\tDatei|Dateien|mehr\n", "utf-8")
    assert main(command) == 1
    assert f"{terms}, line 1: 'file|files' has 2 forms" in capfd.readouterr().err


def test_a_plain_translator_writes_no_slots(artefact: Path) -> None:
    from keras_transformer.export import OnnxTranslator

    translator = OnnxTranslator(artefact, threads=1, markup="plain")
    assert not set("".join(translator.translate(MESSAGES, **LIMITS))) & set(SLOTS)


def test_a_saved_model_that_reads_text_is_refused(
    slot_model: Any, slot_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    from keras_transformer.export import export_saved_model

    with pytest.raises(ValueError, match="cannot keep spans, .* give signatures='ids'"):
        export_saved_model(slot_model, tmp_path / "out", tokenizer=slot_tokenizer)
    assert not (tmp_path / "out").exists()


def test_the_server_keeps_spans(artefact: Path, onnx_side: Any) -> None:
    from served_models import answer, open_served

    model = open_served(artefact, LIMITS, threads=1)
    found = answer(model, "translate_n_best", text=MESSAGES)
    texts = [row[0].decode() for row in found["translations"]]
    assert texts == SentenceTranslator(onnx_side).translate(MESSAGES, **LIMITS)
    assert list(map(spans_of, texts)) == list(map(spans_of, MESSAGES))
    wanted = SentenceTranslator(onnx_side).translate_n_best(MESSAGES, **LIMITS)
    flags = [bool(one.low_confidence) for [one] in wanted]
    # Of a random model's tags not all nest by themselves.
    assert found["low_confidence"][:, 0].tolist() == flags and not any(flags[2:6])


def test_validation_translates_real_texts(slot_model: Any, slot_tokenizer: Tokenizer) -> None:
    from keras_transformer.data.sources.corpus import Pairs
    from keras_transformer.training.tasks.training_data import TrainingData
    from keras_transformer.training.tasks.validation_translations import ValidationTranslations

    text = Pairs(MESSAGES[:2], MESSAGES[1:3], "messages")
    data = TrainingData(slot_tokenizer, slot_tokenizer, None, None, {}, SEEN, text)  # type: ignore[arg-type]
    shown = ValidationTranslations(slot_model, data, [], 2)
    assert (shown.sources, shown.references) == (MESSAGES[:2], MESSAGES[1:3])
    shown.on_epoch_end(0, {})
    assert list(map(spans_of, shown.translations)) == list(map(spans_of, MESSAGES[:2]))
