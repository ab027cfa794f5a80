"""Static word vectors as initial embeddings: the rows of the pieces that spell a word."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.vectors.files import FindVector, VectorFile

if TYPE_CHECKING:
    from keras_transformer.models.families import AnyModel

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class InitialVectors:
    """The files whose vectors a model's embeddings begin as.

    Attributes:
        source: Of the source's embeddings, or of a model's only ones; None for random ones.
        target: Of the target's embeddings.
    """

    source: VectorFile | None = None
    target: VectorFile | None = None

    @classmethod
    def open(
        cls, source: PathLike | None, target: PathLike | None = None, *, has_weights: bool
    ) -> "InitialVectors":
        """Reads what the files begin with.

        Args:
            source: The file for the source's embeddings, or for a model's only ones.
            target: The file for the target's.
            has_weights: Whether training starts from the weights of a run.

        Raises:
            FileNotFoundError: There is no such file.
            ImportError: Gensim is not installed.
            ValueError: A file has no vectors, or a run's weights decide the embeddings too.
        """
        for name, path in (("init_vectors", source), ("init_target_vectors", target)):
            if path is not None and has_weights:
                raise ValueError(
                    f"{name} and init both decide the embeddings: leave one of them out."
                )
        return cls(
            VectorFile.open(Path(source)) if source is not None else None,
            VectorFile.open(Path(target)) if target is not None else None,
        )

    def check(self, config: ModelConfig) -> None:
        """Raises `ValueError` if the vectors are not those of a model of this config."""
        for file in filter(None, (self.source, self.target)):
            if isinstance(config, DecoderConfig) and (config.cutoffs or config.character_dim):
                raise ValueError(
                    "init_vectors are for one matrix of all ids: leave out cutoffs and "
                    "character_dim."
                )
            if file.dim != config.embedded_dim:
                given = getattr(config, "embedding_dim", None)
                name = "model_dim" if given is None else "embedding_dim"
                raise ValueError(
                    f"the vectors of {file.path} have {file.dim} dimensions, the model's "
                    f"embeddings {config.embedded_dim}: give {name}={file.dim}, or other vectors."
                )
        if self.target is None:
            return
        if not isinstance(config, TransformerConfig):
            raise ValueError("init_target_vectors is for translation: give init_vectors.")
        if config.share_embeddings == "all":
            raise ValueError(
                "init_target_vectors: source and target share their embeddings: give "
                "init_vectors alone, or joint_vocabulary=False."
            )

    def set_embeddings(self, model: "AnyModel", source: Tokenizer, target: Tokenizer) -> None:
        """Sets the embeddings of the pieces that have a vector, and prints how many have.

        Raises:
            ValueError: A file is damaged, or has no word of the vocabulary.
        """
        first: Any = getattr(model, "source_embeddings", None) or getattr(model, "embeddings", None)
        if self.source:
            _set(first.tokens.matrix, self.source, source)
        if self.target:
            _set(model.target_embeddings.tokens.matrix, self.target, target)  # type: ignore[union-attr]

    def record(self) -> dict[str, Any]:
        """Returns the entry in `training.json`; a resumed run must have the same."""
        return {
            "init_vectors_sha256": self.source and self.source.sha256(),
            "init_target_vectors_sha256": self.target and self.target.sha256(),
        }


def word_of_piece(piece: str) -> str | None:
    """Returns the word that a piece spells, or None if it spells only a part.

    Example:
        >>> [word_of_piece(piece) for piece in (" house", "ing", " ", ",")]
        ['house', None, None, ',']
    """
    word = piece.removeprefix(" ")
    # Marks of punctuation stand behind a word, without a space, and are words in files of vectors.
    is_whole = piece.startswith(" ") or not any(map(str.isalnum, word))
    return word if word and is_whole and " " not in word else None


def piece_vectors(tokenizer: Tokenizer, find: FindVector) -> dict[int, np.ndarray]:
    """Returns the vectors of the pieces that spell a word which has one, by id."""
    special, subwords = tokenizer.special_ids.without_text, tokenizer.subwords
    found = {}
    for token in range(subwords.size):
        if token in special:
            continue
        word = word_of_piece(subwords.spelling(token))
        vector = None if word is None else find(word)
        if vector is not None and np.any(vector):
            found[token] = vector
    return found


def _set(matrix: Any, file: VectorFile, tokenizer: Tokenizer) -> None:
    found = piece_vectors(tokenizer, file.read())
    print(f"{file.path}: {len(found):,} of {tokenizer.vocab_size:,} pieces have a vector")
    if not found:
        raise ValueError(f"{file.path} has no word of the vocabulary: is it of another language?")
    vectors = np.stack(list(found.values())).astype(np.float64)
    if not np.isfinite(vectors).all():
        raise ValueError(f"{file.path} is a damaged file of word vectors: one is NaN or infinite.")
    rows = np.array(matrix)
    # One factor for all keeps angles and ratios of lengths, and gives what the model expects of an
    # embedding beside a position: a mean square of 1 / model_dim, as random rows have it.
    vectors *= (np.mean(vectors**2) * file.dim) ** -0.5
    rows[list(found)] = vectors
    matrix.assign(rows)
