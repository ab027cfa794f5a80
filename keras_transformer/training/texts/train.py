"""Training on single texts from start to end: a task and a corpus become a run directory and a
trained model, and a killed run is resumed.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

import keras

from keras_transformer.config.checks import check_choice
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.keras_backend import require_tensorflow_backend
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import ModelType, Tokenizer
from keras_transformer.training.loop.strategy import open_replicas
from keras_transformer.training.recipes import Recipe, dropout, nearest_preset, recipe_of
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.resuming import as_begun, refuse_to_overwrite
from keras_transformer.training.run.starting_point import StartingPoint
from keras_transformer.training.run.training_run import Verbose, run_training
from keras_transformer.training.texts.model_config import in_trained_order, text_model_config
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.prepared_texts import check_prepared
from keras_transformer.training.texts.tasks import KINDS, AnyCorpus, TextTaskName
from keras_transformer.training.texts.text_task import TextTask
from keras_transformer.training.transfer.initial_embeddings import InitialVectors


def train_texts(
    task: TextTaskName,
    corpus: AnyCorpus,
    directory: str | os.PathLike[str],
    *,
    preset: str | None = None,
    overrides: dict[str, Any] | None = None,
    vocab_size: int | None = None,
    tokenizer_type: ModelType = "unigram",
    tokenizer: Tokenizer | None = None,
    init: str | os.PathLike[str] | None = None,
    init_vectors: str | os.PathLike[str] | None = None,
    options: TrainOptions | None = None,
    recipe: Recipe | None = None,
    text_options: TextOptions | None = None,
    resume: bool = False,
    dry_run: bool = False,
    callbacks: list[keras.callbacks.Callback] | None = None,
    verbose: Verbose = "auto",
) -> keras.callbacks.History:
    """Trains a model on single texts.

    Args:
        task: "masked-lm" trains an encoder to fill in hidden tokens, "permutation-lm" one to
            predict some in random order, "causal-lm" a decoder to continue texts, "classify" an
            encoder to name the label of a text or pair, "rerank" one to score pairs of a query and
            a text, "tag" one to name the tag of each word, "embed" one to give texts that mean the
            same similar vectors; "denoising" trains an encoder and a decoder to restore what is
            hidden of texts.
        corpus: Training texts and, optionally, validation texts: a `TextCorpus`; for "classify" a
            `LabelledCorpus`, for "rerank" a `ScoredCorpus`, for "tag" a `TaggedCorpus`, for "embed"
            a `Corpus` of pairs that mean the same. Plain texts may be a `PreparedCorpus`, whose
            vocabulary is used.
        directory: Run directory, created if missing.
        preset: A size of the family. None: that of `init`, or the family's smallest.
        overrides: Fields of the config that replace the preset's.
        vocab_size: Number of pieces in the vocabulary; if None, as many as the corpus can teach,
            8,000 at most.
        tokenizer_type: "unigram", "bpe" or "char".
        tokenizer: An existing tokenizer; None to train one on the corpus.
        init: Directory of a finished run, whose tokenizer is used and whose weights are taken where
            layer path and shape are the same, and labels if the head has some; those that are not
            are listed in print and in `training.json`.
        init_vectors: File of word vectors of word2vec, GloVe or fastText that the embeddings begin
            as.
        options: How to train, as far as it is asked for.
        recipe: What decides the rest; that of the preset and the task if None.
        text_options: What is made of the texts; the defaults of `TextOptions` if None.
        resume: Whether to resume from the newest checkpoint in `directory`; if there is none,
            training starts from the beginning.
        dry_run: Whether to print the plan and to make ten updates, for its minutes and memory, and
            to leave nothing behind.
        callbacks: Additional Keras callbacks.
        verbose: The `verbose` of Keras's `fit`; 0 prints nothing, the plan included.

    Returns:
        As `train` does.

    Raises:
        FileExistsError: The directory holds a run already and `resume` is False, a finished model
            without a checkpoint to resume from, or files that no run writes.
        FileNotFoundError: `init` holds no finished run, or the file of vectors is missing.
        ImportError: There are word vectors, and gensim is not installed.
        TypeError: The corpus is not of the task's type.
        ValueError: Keras runs on another backend than TensorFlow, there is no such task, the run to
            resume was started with other settings, an option needs validation texts and there are
            none, a vocabulary does not serve the task, or neither a weight of `init` nor the
            vectors fit.
    """
    require_tensorflow_backend("train_texts")
    check_choice("task", task, list(KINDS))
    kind, text_options = KINDS[task], text_options or TextOptions()
    if isinstance(corpus, PreparedCorpus):
        check_prepared(task, kind, corpus, text_options)
    elif not isinstance(corpus, kind.corpus):
        raise TypeError(
            f"corpus must be a {kind.corpus.__name__} for {task}, got {type(corpus).__name__}."
        )
    known = None if tokenizer is None else (tokenizer, tokenizer)
    if preset is not None:
        check_choice("preset", preset, kind.family.presets)
    start = StartingPoint.open(known, init, vocab_size)
    vectors = InitialVectors.open(init_vectors, has_weights=start.has_weights)
    options = options or TrainOptions()
    trained = start.run.load_config() if start.run else None
    size = preset or nearest_preset(task, kind.family, trained)
    if recipe is None:
        recipe = recipe_of(
            task,
            size,
            has_weights=start.has_weights,
            adapts=options.lora_rank > 0,
        )
    place = RunDirectory(Path(directory), open_replicas(options.strategy).worker)
    refuse_to_overwrite(place, resume=resume)
    options = as_begun(place, options, resume=resume).filled(recipe.settings())
    rate = (overrides or {}).get("dropout")
    if rate is None and resume and place.has_checkpoints:
        rate = place.load_config().dropout
    begun = trained if preset is None else None
    model_config = partial(
        text_model_config,
        kind.family,
        size,
        overrides,
        start=begun if isinstance(begun, kind.family) else None,
        head=in_trained_order(kind.head(corpus, text_options), trained),
        max_length=options.max_length,
    )
    run_task = TextTask(
        task,
        kind,
        corpus,
        start,
        vocab_size,
        tokenizer_type,
        lambda size, special_ids: model_config(vocab_size=size, special_ids=special_ids),
        options,
        text_options,
        lambda tokens: dropout(recipe, trained, tokens) if rate is None else rate,
        vectors,
    )
    run_task.check()
    return run_training(
        run_task, place, options, recipe, callbacks, resume=resume, dry_run=dry_run, verbose=verbose
    )
