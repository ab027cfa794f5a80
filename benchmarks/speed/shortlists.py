"""Shortlists of what is measured: a precision's name may end with "+list50", for 50 candidates of
each source piece, which our artefact and CTranslate2's map then share.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

_MARK = "+list"
MAP = "vmap.txt"


def split(precision: str) -> tuple[str, int | None]:
    """Returns a precision's own name and how many candidates it asks for; None without a list.

    Raises:
        ValueError: The number is none above 0.
    """
    name, mark, count = precision.partition(_MARK)
    if mark and (not count.isdecimal() or int(count) < 1):
        raise ValueError(f"a precision's list must be as in int8+list50, got {precision!r}")
    return name, int(count) if mark else None


def precision_of(known: Sequence[str]) -> Callable[[str], str]:
    """Makes the reader of a precision's name, one of those known, with or without a shortlist."""

    def precision(text: str) -> str:
        if split(text)[0] not in known:
            raise ValueError(f"must be of {', '.join(known)}, got {text!r}")
        return text

    return precision


def make(loaded: Any, count: int, texts: Sequence[str]) -> Any:
    """Makes a shortlist: learnt from two files of parallel text if they are given, else random.

    Args:
        loaded: What `load_run` returns.
        count: Candidates of each source piece.
        texts: The files of the sources and of the targets; none for random candidates.
    """
    from keras_transformer.artefact.shortlist import Shortlist
    from keras_transformer.data.sources.files import read_parallel
    from keras_transformer.export.inputs import ids_of_every_text
    from keras_transformer.export.onnx.shortlists.parallel_text import train_shortlist

    model, source, target = loaded
    if texts:
        pairs = read_parallel(*texts)
        sides = (pairs.source, pairs.target)
        return train_shortlist(*sides, model.config, source, target, candidates=count)
    random, config = np.random.default_rng(0), model.config
    known = np.array(config.special_ids.text_ids(config.target_vocab_size))
    lists = [
        random.choice(known, min(count, len(known)), replace=False)
        for _ in range(config.source_vocab_size)
    ]
    every = ids_of_every_text(config)
    return Shortlist.of_lists(lists, every, config.target_vocab_size, "random")


def write_map(shortlist: Any, loaded: Any, directory: Path) -> None:
    """Writes a shortlist as CTranslate2's map into a model's directory."""
    _, source, target = loaded
    lines = [("", shortlist.always.tolist())]
    for token in range(shortlist.source_vocab_size):
        lines.append((source.pieces([token])[0], shortlist.candidates(token).tolist()))
    text = "".join(f"{piece}\t{' '.join(target.pieces(ids))}\n" for piece, ids in lines if ids)
    (directory / MAP).write_text(text, encoding="utf-8")
