"""The return of a version's memory to the system."""

import ctypes
import gc


def return_freed_memory() -> None:
    """Returns to the system what has been freed, by Python's objects and by native code.

    The C library keeps freed memory for each thread that has allocated some, up to 64 MB at the end
    of each of its heaps and all that lies between blocks in use. The weights and tokenizers of
    versions that come and go, loaded by one thread and used by others, leave more of it with each.
    Only garbage is collected if the C library has no `malloc_trim`.
    """
    # A model's parts refer to each other.
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
