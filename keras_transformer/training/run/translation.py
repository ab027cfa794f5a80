"""Training from start to end: a corpus becomes a run directory and a trained model, and a killed
run is resumed.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

import keras

from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.sources.corpus import Corpus
from keras_transformer.keras_backend import require_tensorflow_backend
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import ModelType, Tokenizer
from keras_transformer.text.tokenizer_files import Tokenizers
from keras_transformer.training.defaults import default_recipe
from keras_transformer.training.loop.strategy import open_replicas
from keras_transformer.training.recipes import WORD_LEVEL, Recipe
from keras_transformer.training.run.model_config import (
    DEFAULT_PRESET,
    model_config,
)
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.resuming import as_begun, refuse_to_overwrite
from keras_transformer.training.run.starting_point import StartingPoint
from keras_transformer.training.run.training_run import Verbose, run_training
from keras_transformer.training.tasks.training_data import Vocabulary
from keras_transformer.training.tasks.translation import TranslationTask
from keras_transformer.training.transfer.initial_embeddings import InitialVectors
from keras_transformer.training.word_level.teacher_run import WordLevel


def train(
    corpus: Corpus | PreparedCorpus,
    directory: str | os.PathLike[str],
    *,
    preset: str | None = None,
    overrides: dict[str, Any] | None = None,
    vocab_size: int | None = None,
    tokenizer_type: ModelType = "unigram",
    joint_vocabulary: bool = True,
    tokenizers: Tokenizers | None = None,
    init: str | os.PathLike[str] | None = None,
    init_decoder: str | os.PathLike[str] | None = None,
    init_vectors: str | os.PathLike[str] | None = None,
    init_target_vectors: str | os.PathLike[str] | None = None,
    teacher: str | os.PathLike[str] | None = None,
    word_level: float = WORD_LEVEL,
    options: TrainOptions | None = None,
    recipe: Recipe | None = None,
    resume: bool = False,
    dry_run: bool = False,
    callbacks: list[keras.callbacks.Callback] | None = None,
    verbose: Verbose = "auto",
) -> keras.callbacks.History:
    """Trains a Transformer on parallel text.

    Args:
        corpus: Training pairs and, optionally, validation pairs; those of a `PreparedCorpus` are
            streamed from disk, and its vocabularies are used.
        directory: Run directory, created if missing; `docs/concepts.md` lists its files.
        preset: A size that `TransformerConfig.preset` knows; that of `init`, or "tiny", if None.
        overrides: Fields of the config that replace the preset's.
        vocab_size: Number of pieces in the vocabulary (in each, if there are two); if None, as many
            as the corpus can teach, 8,000 at most.
        tokenizer_type: "unigram" or "bpe".
        joint_vocabulary: Whether source and target share a vocabulary.
        tokenizers: Existing tokenizers of source and target, the same object twice for a shared
            vocabulary; None to train them on the corpus.
        init: Directory of a finished run to fine-tune, whose weights and tokenizers are used.
            `preset` and `overrides`, if given, must be those it was trained with, except for
            dropout rates.
            Or of a run of an encoder alone: it becomes the encoder, with its vocabulary, sizes and
            choices, from which `preset`, if given, must not differ. Weights are taken where layer
            path and shape are the same; what does not fit is listed in print and in
            `training.json`.
        init_decoder: Directory of a finished run of a decoder alone, which becomes the decoder in
            the same way.
        init_vectors: File of word vectors of word2vec, GloVe or fastText that the source's
            embeddings begin as, and the target's if they are the same.
        init_target_vectors: File of those that the target's embeddings begin as.
        teacher: Directory of a finished run of the same vocabularies, whose distributions the model
            learns from, too (word-level distillation); `tokenizers` are then given.
        word_level: Share of the loss that these distributions have, in (0, 1].
        options: How to train, as far as it is asked for.
        recipe: What decides the rest; if None, that of fine-tuning a translation's run, or of the
            preset.
        resume: Whether to resume from the newest checkpoint in `directory`; if there is none,
            training starts from the beginning.
        dry_run: Whether to print the plan and to make ten updates, for its minutes and memory, and
            to leave nothing behind.
        callbacks: Additional Keras callbacks.
        verbose: As of Keras's `fit`; 0 prints nothing, the plan included.

    Returns:
        Keras's `History`: `history` has the figures of all rounds, those before a resumption
        included, and `model` is the finished model, as saved in `model.keras`; None of a dry run.

    Raises:
        FileExistsError: The directory holds a run already and `resume` is False, a finished model
            without a checkpoint to resume from, or files that no run writes.
        FileNotFoundError: `init` or `teacher` holds no finished run, or a file of vectors is
            missing.
        ImportError: There are word vectors, and gensim is not installed.
        TypeError: `corpus` is not a corpus, or `tokenizers` are not two tokenizers.
        ValueError: Keras runs on another backend than TensorFlow, the run to resume was started
            with other settings, an option needs validation pairs and there are none, a model of
            this config cannot take the weights of `init` or the vectors, or the teacher has another
            vocabulary.
        DamagedCheckpointError: None of the run's checkpoints can be read.
        FloatingPointError: A loss or the weights became NaN or Inf; the message names the batch.
        OSError: The disk is full; the checkpoints so far are intact.
        ConnectionError: Another worker is gone.
    """
    require_tensorflow_backend("train")
    _check_types(corpus, tokenizers)
    start = StartingPoint.open_parts(tokenizers, init, init_decoder, vocab_size)
    recipe = recipe or default_recipe(start.run, preset, is_text=isinstance(corpus, Corpus))
    options = options or TrainOptions()
    place = RunDirectory(Path(directory), open_replicas(options.strategy).worker)
    refuse_to_overwrite(place, resume=resume)
    options = as_begun(place, options, resume=resume).filled(recipe.settings())
    vectors = InitialVectors.open(init_vectors, init_target_vectors, has_weights=start.has_weights)
    start.check_preset(preset, overrides or {})
    overrides = {**start.model_fields(preset), **(overrides or {})}
    task = TranslationTask(
        corpus,
        start,
        Vocabulary(vocab_size, tokenizer_type, joint_vocabulary),
        partial(model_config, preset or DEFAULT_PRESET, overrides, max_length=options.max_length),
        options,
        vectors,
        None if teacher is None else WordLevel.open(teacher, word_level),
    )
    task.check()
    return run_training(
        task, place, options, recipe, callbacks, resume=resume, dry_run=dry_run, verbose=verbose
    )


def _check_types(corpus: object, tokenizers: object) -> None:
    """Raises `TypeError` if an argument of `train` is of a type that is easily mistaken for it."""
    if not isinstance(corpus, Corpus | PreparedCorpus):
        raise TypeError(
            f"corpus must be a Corpus or a PreparedCorpus, got {type(corpus).__name__}: wrap pairs "
            "as Corpus(train=pairs)."
        )
    if isinstance(tokenizers, Tokenizer):
        raise TypeError(
            "tokenizers must be those of source and target, got one Tokenizer: give it twice, "
            "(tokenizer, tokenizer), for a shared vocabulary."
        )
