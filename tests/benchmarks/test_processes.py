"""Engines in processes of their own: answers, errors, ends, and whether they lie still."""

import textwrap
import time
from pathlib import Path

import pytest
from speed import processes
from speed.processes import Worker

ENGINE = """
    import sys, threading, time
    from speed.serving import Engine, serve

    def spin():
        end = time.monotonic() + float(sys.argv[1])
        while time.monotonic() < end:
            pass

    class Fake(Engine):
        def load(self, folder, precision):
            print("libraries print what they like")
            if folder == "spin":
                threading.Thread(target=spin, daemon=True).start()

        def prepare(self, rows):
            return rows

        def run(self, prepared, beam_size, length):
            time.sleep(0.01)
            return [row[:length] for row in prepared]

        def to_ids(self, result):
            if not result:
                raise ValueError("no rows")
            return result

        def leave(self):
            sys.exit(3)

    serve(Fake())
"""


@pytest.fixture(autouse=True)
def _engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fake_engine.py").write_text(textwrap.dedent(ENGINE), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_an_engine_answers_whatever_it_prints() -> None:
    with Worker("fake_engine") as worker:
        worker.ask("load", folder="", precision="float32")
        found = worker.ask("decode", rows=[[4, 5, 6]], beam_size=1, length=2)
        taken = worker.ask("measure", rows=[[4]], beam_size=1, length=1, times=3)
    assert found == [[4, 5]]
    assert 0.01 <= taken["seconds"] < 0.1
    assert taken["cpu_seconds"] >= 0


def test_an_engines_error_is_raised_and_it_goes_on() -> None:
    with Worker("fake_engine", name="the engine") as worker:
        with pytest.raises(RuntimeError, match=r"the engine failed:[^$]*ValueError: no rows"):
            worker.ask("decode", rows=[], beam_size=1, length=2)
        assert worker.ask("decode", rows=[[4]], beam_size=1, length=1) == [[4]]


def test_an_engine_that_ended_is_an_error() -> None:
    with (
        Worker("fake_engine") as worker,
        pytest.raises(RuntimeError, match="fake_engine has ended"),
    ):
        worker.ask("leave")
    with Worker("no_such_engine") as worker, pytest.raises(RuntimeError, match="has ended"):
        worker.ask("leave")


def test_an_engine_without_texts_says_so() -> None:
    with Worker("fake_engine") as worker:
        with pytest.raises(RuntimeError, match="Fake translates no texts"):
            worker.ask("measure_texts", texts=["a"], beam_size=1)


def test_settling_waits_for_spinning_threads() -> None:
    with Worker("fake_engine", "0.4") as worker:
        worker.settle()
        start = time.monotonic()
        worker.ask("load", folder="spin", precision="float32")
        worker.settle()
        assert time.monotonic() - start > 0.4


def test_threads_that_never_stop_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_PATIENCE_SECONDS", 0.3)
    with Worker("fake_engine", "60") as worker:
        worker.ask("load", folder="spin", precision="float32")
        with pytest.raises(RuntimeError, match="keeps its threads spinning"):
            worker.settle()
