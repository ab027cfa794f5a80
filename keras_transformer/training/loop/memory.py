"""What the C library does with memory that a training step frees: it keeps it for the next step.

A step frees hundreds of megabytes and the next one asks for them again. By default glibc gives
blocks of more than 32 MB back at once, and the system clears every page when it hands it out anew:
two fifths of a step's time on one virtual machine.
"""

import ctypes

# <malloc.h>
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_NEVER = -1


def keep_freed_memory() -> None:
    """Lets this process keep the memory that it frees, from now on, for what it allocates later.

    What it has taken it gives back when it ends, or by `malloc_trim`. The peak of a training of
    `tiny` did not grow. Blocks of more than 64 MB are kept for the main thread alone: the arenas
    that glibc has for the others hold none such. A C library without `mallopt` is left alone.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, _NEVER)
