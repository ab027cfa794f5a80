"""States of words on disk: computed block by block, each once, also if training is killed."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from keras_transformer.config.embedding import FeatureConfig
from keras_transformer.whole_files import clear_disk_errors

# Texts that are computed, and then written, at a time.
_BLOCK = 1024
_BEGUN = ".begun"
Words = Sequence[Sequence[str]]


def stored_states(
    path: Path,
    texts: Words,
    config: FeatureConfig,
    read: Callable[[Words], Sequence[npt.NDArray[np.float16]]],
) -> npt.NDArray[np.float16]:
    """Returns the states of all words of texts from a file, which is made if it is not there.

    Until it is complete the file has another name; what it holds of whole blocks of texts is kept.

    Args:
        path: The file: float16, in the order of the words. Its name must tell these texts and their
            model from others.
        texts: The words of each text.
        config: How many layers and features a word's states have.
        read: Takes texts and returns the states of each, `(words, layers, width)`.

    Returns:
        `(words, layers, width)`, read from disk when it is looked at.

    Raises:
        OSError: The file cannot be written.
        ValueError: The file is of another size, damaged or of other texts.
    """
    shape = (sum(map(len, texts)), config.num_layers, config.width)
    size = 2 * int(np.prod(shape))
    if not path.exists():
        with clear_disk_errors(path, size):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, texts, config, read)
    if path.stat().st_size != size:
        raise ValueError(
            f"{path} has {path.stat().st_size:,} bytes where its words have {size:,}: delete it, "
            "and it is computed again."
        )
    return np.memmap(path, np.float16, "r", shape=shape)


def _write(
    path: Path,
    texts: Words,
    config: FeatureConfig,
    read: Callable[[Words], Sequence[npt.NDArray[np.float16]]],
) -> None:
    begun = path.with_name(path.name + _BEGUN)
    begun.touch()
    a_word = 2 * config.num_layers * config.width
    blocks = [texts[start : start + _BLOCK] for start in range(0, len(texts), _BLOCK)]
    ends = np.cumsum([a_word * sum(map(len, block)) for block in blocks])
    done = int((ends <= begun.stat().st_size).sum())
    with begun.open("r+b") as file:
        file.truncate(int(ends[done - 1]) if done else 0)
        file.seek(0, os.SEEK_END)
        for block in blocks[done:]:
            for states in read(block):
                file.write(states.tobytes())
            file.flush()
            os.fsync(file.fileno())
    os.replace(begun, path)
