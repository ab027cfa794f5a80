"""Freed memory: it is used again without asking the system, in the main thread and in others."""

import sys

import pytest
from fresh_process import python

# Prints how many pages the system handed out for blocks that took each other's place.
_PAGES = """
import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from keras_transformer.training.loop.memory import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()
# More than glibc keeps by itself, and less than a thread's arena holds.
blocks = lambda: [len(b"x" * (48 << 20)) for _ in range(5)]
pages = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
with ThreadPoolExecutor(1) as pool:
    run = (lambda: pool.submit(blocks).result()) if sys.argv[2] == "thread" else blocks
    run()
    before = pages()
    run()
    print(pages() - before)
"""


def pages(*arguments: str) -> int:
    return int(python("-c", _PAGES, *arguments).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="other C libraries have other settings")
@pytest.mark.parametrize("where", ["main", "thread"])
def test_freed_memory_is_not_asked_for_again(where: str) -> None:
    assert pages("kept", where) < pages("given back", where) / 4
