"""Phrases of the user's, one a line of a file."""

from keras_transformer.data.sources.files import (
    PathLike,
    as_paths,
    iter_lines,
    require_files,
    require_rereadable,
)


def read_phrases(path: PathLike) -> tuple[str, ...]:
    """Reads phrases, one a line, in order and each once; empty lines are left out.

    Args:
        path: UTF-8, plain or gzip.

    Raises:
        FileNotFoundError: The file is missing.
        ValueError: Broken text (names file and line), no phrase at all, or the file is a pipe: a
            run reads its phrases several times.
    """
    require_files(as_paths(path))
    require_rereadable(as_paths(path))
    phrases = dict.fromkeys(" ".join(line.split()) for line in iter_lines(path))
    phrases.pop("", None)
    if not phrases:
        raise ValueError(f"{path} has no phrase: write one a line.")
    return tuple(phrases)
