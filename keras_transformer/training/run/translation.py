"""Training of a translation from start to end: parallel text becomes a run directory and a trained
model, and a killed run is resumed.
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
from keras_transformer.training.run.model_config import DEFAULT_PRESET, model_config
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.resuming import as_begun, refuse_to_overwrite
from keras_transformer.training.run.starting_point import StartingPoint
from keras_transformer.training.run.training_run import Verbose, run_training
from keras_transformer.training.tasks.training_data import Vocabulary
from keras_transformer.training.tasks.translation import TranslationTask
from keras_transformer.training.transfer.initial_embeddings import InitialVectors
from keras_transformer.training.word_level.teacher_run import WordLevel


def train_translation(
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

    Arguments, result and errors are those of `train`.
    """
    require_tensorflow_backend("train")
    _check_types(corpus, tokenizers)
    start = StartingPoint.open_parts(tokenizers, init, init_decoder, vocab_size)
    recipe = recipe or default_recipe(start.run, preset, is_text=isinstance(corpus, Corpus))
    options = options or TrainOptions()
    place = RunDirectory(Path(directory), open_replicas(options.strategy).worker)
    refuse_to_overwrite(place, resume=resume)
    options = as_begun(place, options, resume=resume).filled(recipe.settings())
    if start.run is not None and isinstance(corpus, Corpus):
        options = options.with_spans_of(start.run.load_training_text())
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
    """Raises `TypeError` if an argument is of a type that is easily mistaken for it."""
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
