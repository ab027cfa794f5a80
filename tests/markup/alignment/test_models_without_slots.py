"""A model without slots keeps spans on every way to translate: on Keras, on onnxruntime, by
sentences, in streams, on the server and on the command line.
"""

import io
from collections import Counter
from typing import Any

import pytest

from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.spans import find_spans
from keras_transformer.translation.by_sentence import SentenceTranslator

MESSAGES = [
    "the red <b>dog</b> runs to the <i>house</i>",
    "<p>we see %s birds</p>",
    "hello",
    "<br>",
    "THE <b>RED</b> DOG RUNS",
    "the %1$s <a href='http://a.org'>is {name}</a> &amp; blue",
]


def spans_of(text: str, profile: Profile = "auto") -> Counter[str]:
    return Counter(span.text for span in find_spans(text, profile))


@pytest.fixture(
    scope="module",
    params=[pytest.param("keras", marks=pytest.mark.exhaustive), "onnxruntime"],
)
def translator(exported: Any, request: pytest.FixtureRequest) -> Any:
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.export import OnnxTranslator

    if request.param == "keras":
        return Translator(exported.model, exported.source_tokenizer, markup="auto")
    return OnnxTranslator(exported.path, threads=1, markup="auto")


@pytest.mark.parametrize("search", [{}, {"beam_size": 2, "num_hypotheses": 2}], ids=str)
def test_every_hypothesis_has_every_span_once(translator: Any, search: dict[str, Any]) -> None:
    found = translator.translate_n_best(MESSAGES, **search)
    for message, hypotheses in zip(MESSAGES, found, strict=True):
        assert [spans_of(one.text) for one in hypotheses] == [spans_of(message)] * len(hypotheses)
    assert translator.translate(MESSAGES, **search) == [own[0].text for own in found]
    assert [bool(own[0].low_confidence) for own in found][2:4] == [False, False]


def test_texts_of_several_sentences_and_streams_keep_their_spans(translator: Any) -> None:
    text = ". ".join(MESSAGES)
    sentences = SentenceTranslator(translator)
    [found], [parts] = sentences.translate([text]), sentences.translate_parts([text])
    assert spans_of(found) == spans_of(text) and len(parts) == 5
    for part in parts:
        assert spans_of(part.hypotheses[0].text) == spans_of(part.source)
    for message in MESSAGES:
        streamed = "".join(translator.translate_stream(message))
        assert [streamed] == translator.translate([message])


def test_a_beginning_a_stop_and_unknown_words_go_with_spans(translator: Any) -> None:
    message = MESSAGES[0]
    for options in ({"target_prefixes": ["<b>house"]}, {"stop": "the"}, {"replace_unk": True}):
        [found] = translator.translate([message], **options)
        assert spans_of(found) == spans_of(message)


def test_texts_of_files_keep_the_spans_of_their_format(exported: Any) -> None:
    from keras_transformer.export import OnnxTranslator
    from keras_transformer.files.translating import SpanTranslator

    translate = SpanTranslator(OnnxTranslator(exported.path, threads=1))
    profiles: tuple[Profile, ...] = ("html", "printf")
    for profile in profiles:
        [found] = translate([MESSAGES[1]], profile)
        assert spans_of(found.text, profile) == spans_of(MESSAGES[1], profile) != Counter()


def test_the_server_keeps_spans(exported: Any) -> None:
    from served_models import answer, open_served

    from keras_transformer.export import OnnxTranslator

    model = open_served(exported.path, threads=1, markup="auto")
    wanted = SentenceTranslator(OnnxTranslator(exported.path, threads=1, markup="auto"))
    expected = wanted.translate_n_best(MESSAGES)
    found = answer(model, "translate_n_best", text=MESSAGES)
    assert [row[0].decode() for row in found["translations"]] == [own[0].text for own in expected]
    flags = [bool(own[0].low_confidence) for own in expected]
    assert found["low_confidence"][:, 0].tolist() == flags
    request = model.read_text(MESSAGES[0])
    streamed: list[str] = []
    model.stream(request.rows[0], lambda piece: streamed.append(piece) is None)
    shown = model.describe(request.passages[0], model.explain(request.rows))
    assert streamed == [shown["sentences"][0]["hypotheses"][0]["translation"]]
    assert streamed == [expected[0][0].text]


def test_the_command_line_keeps_spans_and_refuses_to_count_words_without_tags(
    exported: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from keras_transformer.cli import main

    command = ["translate", str(exported.path), "--markup", "html"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MESSAGES[0].encode() + b"\n")))
    assert main(command) == 0
    assert spans_of(capfd.readouterr().out) == spans_of(MESSAGES[0])
    assert main([*command, "--alignments"]) == 1
    assert "one without slots reads no tags" in capfd.readouterr().err
