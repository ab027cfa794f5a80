"""What the C library does with memory that a training step frees: it keeps it for the next step.

A step frees hundreds of megabytes and the next one asks for them again. By default glibc gives
blocks of more than 32 MB back at once, and the system clears every page when it hands it out anew:
up to two fifths of a step's time on a virtual machine.
"""

import ctypes

# <malloc.h>
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_NEVER = -1


def keep_freed_memory() -> None:
    """Lets this process keep the memory that it frees, from now on, for what it allocates later.

    Its peak stays as it is; what it has taken it gives back when it ends, or by `malloc_trim`.
    Blocks of more than 64 MB are kept where the main thread asked for them, glibc's other arenas
    hold no such. A C library without `mallopt` is left alone.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, _NEVER)
