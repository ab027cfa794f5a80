"""What is counted and written about requests."""

import asyncio
import io
import json

from keras_transformer.serving.journal import Entry, Journal


def end(journal: Journal, entry: Entry, code: str) -> None:
    """Ends a request as the server does, and lets its event loop go on."""

    async def work() -> None:
        journal.end(entry, code)
        await asyncio.sleep(0)

    asyncio.run(work())


def test_a_request_is_counted_and_has_one_line_without_its_text() -> None:
    stream = io.StringIO()
    journal = Journal(stream=stream)
    entry = journal.begin("rest", "demo")
    entry.signature, entry.sentences, entry.texts = "serving_default", 2, ["secret", "words"]
    entry.batch, entry.queue_seconds = 7, 0.0015
    end(journal, entry, "OK")
    [line] = map(json.loads, stream.getvalue().splitlines())
    assert (line["request"], line["model"], line["code"]) == (1, "demo", "OK")
    assert (line["sentences"], line["batch"], line["queue_ms"]) == (2, 7, 1.5)
    assert "secret" not in stream.getvalue()
    metrics = journal.metrics().decode()
    labels = 'code="OK",model="demo",protocol="rest",signature="serving_default"'
    assert f"keras_transformer_requests_total{{{labels}}} 1.0" in metrics
    assert (
        'keras_transformer_sentences_total{model="demo",signature="serving_default"} 2.0' in metrics
    )


def test_texts_are_written_where_they_are_asked_for() -> None:
    stream = io.StringIO()
    journal = Journal(log_text=True, stream=stream)
    entry = journal.begin("grpc", "demo")
    entry.texts = ["línea\nuna"]
    end(journal, entry, "INTERNAL")
    [line] = map(json.loads, stream.getvalue().splitlines())
    assert line["texts"] == ["línea\nuna"]


def test_without_a_log_requests_are_counted_all_the_same() -> None:
    stream = io.StringIO()
    journal = Journal(log_requests=False, stream=stream)
    end(journal, journal.begin("rest", "demo"), "NOT_FOUND")
    journal.batch("demo", 5)
    assert stream.getvalue() == ""
    metrics = journal.metrics().decode()
    assert (
        'code="NOT_FOUND"' in metrics
        and 'keras_transformer_batch_size_sum{model="demo"} 5.0' in metrics
    )


def test_gauges_show_the_present() -> None:
    journal = Journal()
    waiting = [3]
    journal.follow("demo", lambda: waiting[0], lambda: 12)
    journal.follow("back", lambda: 0, lambda: 1)
    assert 'keras_transformer_queue_length{model="demo"} 3.0' in journal.metrics().decode()
    waiting[0] = 4
    metrics = journal.metrics().decode()
    assert 'keras_transformer_queue_length{model="demo"} 4.0' in metrics
    assert 'keras_transformer_model_version{model="demo"} 12.0' in metrics
    assert 'keras_transformer_model_version{model="back"} 1.0' in metrics
