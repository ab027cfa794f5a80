"""The files of a model's tokenizers in a directory: one if both sides share it, otherwise two."""

from collections.abc import Callable
from pathlib import Path

from keras_transformer.config.families import ModelConfig
from keras_transformer.config.family import FAMILIES
from keras_transformer.text.subwords.opening import SUFFIXES
from keras_transformer.text.tokenizer import Tokenizer

SHARED = "tokenizer"
SOURCE = "source_tokenizer"
TARGET = "target_tokenizer"
# Those of source and target: the same object twice if there is one vocabulary.
Tokenizers = tuple[Tokenizer, Tokenizer]


def save_tokenizers(directory: Path, source: Tokenizer, target: Tokenizer) -> tuple[str, str]:
    """Writes the files, and deletes older ones.

    Returns:
        The names of the source's and of the target's file, the same if they are the same object.
    """
    remove_tokenizers(directory)
    if source is target:
        names = (SHARED + source.suffix,) * 2
    else:
        names = (SOURCE + source.suffix, TARGET + target.suffix)
    for name, tokenizer in dict(zip(names, (source, target), strict=True)).items():
        tokenizer.save(directory / name)
    return names


def load_tokenizers(directory: Path, existing: Callable[[str], Path]) -> Tokenizers:
    """Reads source and target tokenizer; the same object if they share a vocabulary.

    Args:
        directory: Where the files are.
        existing: Takes the name of a file and returns its path, or raises an error that says what
            the directory should be.
    """
    own = find_tokenizer(directory, SOURCE)
    if own.exists():
        target = existing(find_tokenizer(directory, TARGET).name)
        return Tokenizer.load(own), Tokenizer.load(target)
    shared = Tokenizer.load(existing(find_tokenizer(directory, SHARED).name))
    return shared, shared


def remove_tokenizers(directory: Path) -> None:
    """Deletes all of a directory's tokenizer files."""
    for stem in (SHARED, SOURCE, TARGET):
        for path in tokenizer_paths(directory, stem):
            path.unlink(missing_ok=True)


def find_tokenizer(directory: Path, stem: str) -> Path:
    """Returns the file of a tokenizer; where there is none, the path of a SentencePiece model."""
    paths = tokenizer_paths(directory, stem)
    return next((path for path in paths if path.is_file()), paths[0])


def tokenizer_paths(directory: Path, stem: str) -> list[Path]:
    """Returns where the file of a tokenizer may lie, by its kind."""
    return [directory / f"{stem}{suffix}" for suffix in SUFFIXES.values()]


def check_vocabularies(config: ModelConfig, source: Tokenizer, target: Tokenizer) -> None:
    """Checks that tokenizers have the ids of their model; of one stack they are the same.

    Raises:
        ValueError: One has more or fewer, for instance as its file was cut short.
    """
    fields = FAMILIES[config.family].vocabulary_fields
    for field, tokenizer in zip(fields, (source, target), strict=False):
        size = getattr(config, field)
        if tokenizer.vocab_size != size:
            side = field.removesuffix("vocab_size").replace("_", " ")
            raise ValueError(
                f"the {side}tokenizer has {tokenizer.vocab_size} ids, but the model's {field} is "
                f"{size}: give the tokenizer it was trained with."
            )
