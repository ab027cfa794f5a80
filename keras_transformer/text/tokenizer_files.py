"""The files of a model's tokenizers in a directory: one if both sides share it, or else two."""

from pathlib import Path

from keras_transformer.text.subwords.opening import SUFFIXES
from keras_transformer.text.tokenizer import Tokenizer

SHARED = "tokenizer"
SOURCE = "source_tokenizer"
TARGET = "target_tokenizer"


def save_tokenizers(directory: Path, source: Tokenizer, target: Tokenizer) -> tuple[str, str]:
    """Writes the files, and deletes older ones.

    Returns:
        The names of the source's and of the target's file, the same if they are the same object.
    """
    for stem in (SHARED, SOURCE, TARGET):
        for path in tokenizer_paths(directory, stem):
            path.unlink(missing_ok=True)
    if source is target:
        names = (SHARED + source.suffix,) * 2
    else:
        names = (SOURCE + source.suffix, TARGET + target.suffix)
    for name, tokenizer in dict(zip(names, (source, target), strict=True)).items():
        tokenizer.save(directory / name)
    return names


def find_tokenizer(directory: Path, stem: str) -> Path:
    """Returns the file of a tokenizer; where there is none, the path of a SentencePiece model."""
    paths = tokenizer_paths(directory, stem)
    return next((path for path in paths if path.is_file()), paths[0])


def tokenizer_paths(directory: Path, stem: str) -> list[Path]:
    """Returns where the file of a tokenizer may lie, by its kind."""
    return [directory / f"{stem}{suffix}" for suffix in SUFFIXES.values()]
