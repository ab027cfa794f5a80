"""keras_transformer/garbage.py: collections look at new objects only, unless a caller decides."""

import gc
import weakref

from keras_transformer.garbage import quick_collections


class Link:
    """Refers to itself."""

    def __init__(self) -> None:
        self.own = self


def test_new_garbage_is_collected_and_old_objects_are_left_out_until_the_end() -> None:
    before = gc.get_freeze_count()
    gc.unfreeze()
    try:
        with quick_collections():
            assert gc.get_freeze_count() > 0
            new = weakref.ref(Link())
            gc.collect()
            assert new() is None
        assert gc.get_freeze_count() == 0
    finally:
        if before:
            gc.freeze()


def test_what_a_caller_has_left_out_stays_so() -> None:
    gc.freeze()
    with quick_collections():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() > 0
