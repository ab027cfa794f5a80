"""What versions that were unloaded have freed goes back to the system."""

import re
import shutil
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.serving.models.versioning import versions
from keras_transformer.serving.models.versioning.freed_memory import return_freed_memory

BLOCK, BLOCKS = 100_000, 600


def own_megabytes() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1e3


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_freed_blocks_of_another_thread_are_returned() -> None:
    kept = []

    def load() -> None:
        # What is in use behind freed blocks keeps the C library from giving them back by itself.
        blocks = [np.ones(BLOCK, np.uint8) for _ in range(BLOCKS)]
        kept.append(blocks.pop())

    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    before = own_megabytes()
    return_freed_memory()
    assert own_megabytes() < before - 0.5 * BLOCK * BLOCKS / 1e6
    assert kept[0].all()


def test_parts_that_refer_to_each_other_are_freed() -> None:
    class Part:
        other: "Part"

    first, second = Part(), Part()
    first.other, second.other = second, first
    alive = weakref.ref(first)
    del first, second
    return_freed_memory()
    assert alive() is None


def test_a_server_returns_it_after_every_version(
    start, exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(versions, "return_freed_memory", lambda: calls.append(1))
    shutil.copytree(exported.path, tmp_path / "1")
    server = start(tmp_path)
    assert not calls
    shutil.copytree(exported.path, tmp_path / "new")
    (tmp_path / "new").rename(tmp_path / "2")
    end = time.monotonic() + 30
    while not calls and time.monotonic() < end:
        time.sleep(0.02)
    assert calls == [1]
    assert server.predict({"instances": ["hello"]}).status_code == 200
