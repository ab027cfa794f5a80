"""Makes collections of garbage quick while many are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_collections() -> Iterator[None]:
    """Lets `gc.collect` look only at objects that are made inside.

    It would look at every object of TensorFlow each time, which takes seconds. Nothing changes if
    objects are left out already.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
