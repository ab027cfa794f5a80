"""What is counted and written about requests."""

import asyncio
import io
import json
import sys
from pathlib import Path

import pytest

from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.journal import Journal, JournalEntry


def end(journal: Journal, entry: JournalEntry, code: str) -> None:
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


class Broken(io.StringIO):
    """A log whose disk is full, or whose reader is gone."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error: Exception | None = error

    def flush(self) -> None:
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize(
    "error", [BrokenPipeError(), OSError(28, "No space left on device"), ValueError("closed file")]
)
def test_a_line_that_cannot_be_written_is_counted_and_harms_nothing(error: Exception) -> None:
    stream = Broken(error)
    journal = Journal(stream=stream)
    journal.event("draining")
    end(journal, journal.begin("rest", "demo"), "OK")
    assert "keras_transformer_log_lines_lost_total 2.0" in journal.metrics().decode()
    stream.error = None
    journal.event("draining")
    assert "keras_transformer_log_lines_lost_total 2.0" in journal.metrics().decode()


def test_a_process_without_standard_error_has_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    Journal().event("draining")


@pytest.mark.parametrize("is_begun", [False, True])
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyError("secret"), Code.INTERNAL, r"the server failed \(KeyError\)"),
        (TimeoutError(), Code.DEADLINE_EXCEEDED, "time was over"),
        (ServingError(Code.NOT_FOUND, "no such label"), Code.NOT_FOUND, "no such label"),
    ],
)
def test_any_error_is_counted_and_becomes_one_that_clients_may_read(
    caplog, is_begun: bool, error: Exception, code: Code, message: str
) -> None:
    journal = Journal(log_requests=False)

    async def work() -> None:
        record = journal.recorded if is_begun else journal.refusals
        with pytest.raises(ServingError, match=message) as found, record("grpc", "demo"):
            raise error
        assert found.value.code is code
        assert "secret" not in found.value.message
        await asyncio.sleep(0)

    asyncio.run(work())
    assert f'code="{code.name}",model="demo",protocol="grpc"' in journal.metrics().decode()
    assert ("secret" in caplog.text) == (code is Code.INTERNAL)


def test_gauges_show_the_present() -> None:
    journal = Journal()
    waiting = [3]
    journal.follow("demo", lambda: waiting[0], lambda: 12, lambda: {"joined_searches": waiting[0]})
    journal.follow("back", lambda: 0, lambda: 1, dict)
    assert 'keras_transformer_queue_length{model="demo"} 3.0' in journal.metrics().decode()
    waiting[0] = 4
    metrics = journal.metrics().decode()
    assert 'keras_transformer_queue_length{model="demo"} 4.0' in metrics
    assert 'keras_transformer_model_version{model="demo"} 12.0' in metrics
    assert 'keras_transformer_model_version{model="back"} 1.0' in metrics
    assert 'keras_transformer_joined_searches_total{model="demo"} 4.0' in metrics
    assert 'keras_transformer_joined_searches_total{model="back"} 0.0' in metrics


def test_a_line_holds_any_text_that_a_file_system_or_a_client_has(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w", encoding="utf-8") as stream:
        Journal(stream=stream).event("version", directory="/models/\udcff")
    [line] = (tmp_path / "log").read_text("utf-8").splitlines()
    assert json.loads(line)["directory"] == "/models/\udcff"
