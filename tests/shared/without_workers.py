"""Preparing corpora without processes of workers, each of which would import TensorFlow anew."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import nullcontext
from typing import Any

import pytest


class _ThisProcess(Executor):
    """Runs each task as soon as it is given."""

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future:
        done: Future = Future()
        try:
            done.set_result(function(*given, **named))
        except Exception as error:
            done.set_exception(error)
        return done


@pytest.fixture(scope="module")
def without_workers() -> Iterator[None]:
    """`prepare` works in this process; with workers it is tested in `data/prepared`."""
    from keras_transformer.data.prepared import pieces, prepare

    def open_pool(count: int) -> Any:
        # New processes remember no tokenizer of a path.
        pieces._tokenizer.cache_clear()
        return nullcontext(_ThisProcess())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "worker_processes", open_pool)
        yield
