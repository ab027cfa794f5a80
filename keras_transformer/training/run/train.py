"""A whole training run: a corpus comes in, a run directory leaves, and a killed run goes on."""

import dataclasses
import os
from functools import partial
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.config import SpecialIds, TransformerConfig
from keras_transformer.data.encoding.subword_sampling import sampling_type
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.sources.corpus import Corpus
from keras_transformer.distribution import imported_versions
from keras_transformer.models import Transformer, build_transformer
from keras_transformer.text.tokenizer import ModelType, Tokenizer
from keras_transformer.training.loop.accumulation import AccumulatingTrainingModel
from keras_transformer.training.loop.adam import FusedAdam
from keras_transformer.training.loop.fitting import fit_rounds, planned_updates
from keras_transformer.training.loop.memory import keep_freed_memory
from keras_transformer.training.loop.schedule import WarmupSchedule
from keras_transformer.training.loop.strategy import open_replicas
from keras_transformer.training.loop.synchronous import SynchronousAdam, SynchronousTrainingModel
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.run.calibration import calibrate
from keras_transformer.training.run.encoded_corpus import TrainingData, encode_corpus, open_prepared
from keras_transformer.training.run.history import History
from keras_transformer.training.run.model_config import (
    DEFAULT_VOCAB_SIZE,
    model_config,
    vocabulary_of,
)
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.recovery import average_newest, restore_best
from keras_transformer.training.run.resuming import history_to_resume, refuse_to_overwrite
from keras_transformer.training.run.run_directory import RunDirectory
from keras_transformer.training.run.starting_point import StartingPoint, Tokenizers
from keras_transformer.whole_files import whole_file


def train(
    corpus: Corpus | PreparedCorpus,
    directory: str | os.PathLike[str],
    *,
    preset: str = "tiny",
    overrides: dict[str, Any] | None = None,
    vocab_size: int | None = None,
    tokenizer_type: ModelType = "unigram",
    joint_vocabulary: bool = True,
    tokenizers: Tokenizers | None = None,
    init: str | os.PathLike[str] | None = None,
    options: TrainOptions | None = None,
    resume: bool = False,
    callbacks: list[keras.callbacks.Callback] | None = None,
) -> Transformer:
    """Trains a Transformer on parallel text.

    Args:
        corpus: Training pairs and, optionally, validation pairs; those of a `PreparedCorpus` are
            streamed from disk, and its vocabularies are taken.
        directory: Run directory, made where missing; `docs/concepts.md` lists its files.
        preset: A size that `TransformerConfig.preset` knows.
        overrides: Fields of the config that replace the preset's.
        vocab_size: Pieces of the vocabulary (of each, with two); 8,000 if None.
        tokenizer_type: "unigram" or "bpe".
        joint_vocabulary: Whether source and target share a vocabulary.
        tokenizers: Those of source and target, one object twice for a shared vocabulary, instead
            of such as are trained on the corpus.
        init: Directory of a finished run to fine-tune: its weights and its tokenizers are taken.
            `preset` and `overrides` are those it was trained with, rates of dropout excepted.
        options: How to train; `TrainOptions.preset(preset)` if None.
        resume: Whether to go on from the newest checkpoint in `directory`; with none there,
            training starts from the beginning.
        callbacks: More Keras callbacks.

    Returns:
        The trained model, averaged over the last checkpoints, as saved in `model.keras`.

    Raises:
        FileExistsError: The directory holds a run already and `resume` is False.
        FileNotFoundError: `init` holds no finished run.
        ValueError: The run to resume was started with other settings, an option needs validation
            pairs and there are none, or a model of this config cannot take the weights of `init`.
        DamagedCheckpointError: None of the run's checkpoints can be read.
        FloatingPointError: A loss or the weights became NaN or Inf; the message names the batch.
        OSError: The disk is full; the checkpoints so far are intact.
        ConnectionError: Another worker is gone.
    """
    options = options or TrainOptions.preset(preset)
    replicas = open_replicas(options.strategy)
    run = RunDirectory(Path(directory), replicas.worker)
    options.check_validation(has_valid=corpus.valid is not None)
    if not resume:
        refuse_to_overwrite(run)
    start = StartingPoint.open(tokenizers, init, vocab_size)
    size = DEFAULT_VOCAB_SIZE if vocab_size is None else vocab_size
    config_of = partial(model_config, preset, overrides, max_length=options.max_length)
    known = start.tokenizers or _prepared_tokenizers(corpus)
    # Vocabularies that are still to be trained get exactly the size that is asked for.
    planned = vocabulary_of(*known) if known else ((size, size), joint_vocabulary, SpecialIds())
    _check_start(start, corpus, config_of(*planned), options)
    run.path.mkdir(parents=True, exist_ok=True)
    if options.deterministic:
        tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(options.seed)
    with replicas.chief_first():
        if isinstance(corpus, PreparedCorpus):
            data = open_prepared(corpus, run, options.max_length, options.subword_sampling)
        else:
            data = encode_corpus(
                corpus,
                run,
                tokenizers=start.tokenizers,
                vocab_size=size,
                tokenizer_type=tokenizer_type,
                joint_vocabulary=joint_vocabulary,
                max_length=options.max_length,
                subword_sampling=options.subword_sampling,
            )
    config = config_of(*vocabulary_of(data.source_tokenizer, data.target_tokenizer))
    record = {
        "config": config.to_dict(),
        "options": options.to_dict(),
        "data": data.record,
        "start": start.record(),
        "training_text": data.training_text and dataclasses.asdict(data.training_text),
        "versions": _versions(),
    }
    history = history_to_resume(run, record) if resume else History()
    run.save_config(config)
    with replicas.scope():
        model = build_transformer(config, options.dtype_policy)
        start.load_weights(model)
        trained = compile_transformer(model, options, planned_updates(data, options))
    keep_freed_memory()
    history = fit_rounds(run, trained, data, options, record, history, callbacks or [])
    with replicas.chief_first():
        if run.is_chief:
            _finish(run, trained, data, options, record, history)
    # What was trained in a strategy has its weights once a replica.
    return model if replicas.strategy is None else keras.saving.load_model(run.model)


def _finish(
    run: RunDirectory,
    trained: TrainingModel,
    data: TrainingData,
    options: TrainOptions,
    record: dict[str, Any],
    history: History,
) -> None:
    """Makes the final weights of the checkpoints, saves the model and calibrates its scores."""
    if options.final_model == "best":
        restore_best(trained, run.checkpoints, history)
    else:
        average_newest(trained, run.checkpoints, options.average_checkpoints)
    _save_model(trained.transformer, run.model)
    min_score = calibrate(trained.transformer, data, options)
    run.save_training({**record, "min_score": min_score}, history, finished=True)


def compile_transformer(
    transformer: Transformer, options: TrainOptions, updates: int
) -> TrainingModel:
    """Compiles what `fit` trains: the paper's optimizer, schedule and loss (sections 5.3, 5.4).

    Args:
        transformer: The model whose weights are trained.
        options: How.
        updates: Number of all updates, for the schedule's cooldown.
    """
    cooldown = round(options.cooldown * updates)
    has_replicas = tf.distribute.has_strategy()
    optimizer = (SynchronousAdam if has_replicas else FusedAdam)(
        WarmupSchedule(options.learning_rate, options.warmup_steps, updates, cooldown),
        beta_1=0.9,
        beta_2=options.beta_2,
        epsilon=options.epsilon,
        global_clipnorm=options.clip_norm,
    )
    transformer.recompute_activations(options.recompute)
    model = _training_model(transformer, options, has_replicas)
    model.compile(optimizer=optimizer, jit_compile=options.jit_compile)
    model.optimizer.build(model.trainable_variables)
    return model


def _training_model(
    transformer: Transformer, options: TrainOptions, has_replicas: bool
) -> TrainingModel:
    arguments = transformer, options.label_smoothing, options.r_drop
    if not has_replicas and options.micro_batches == 1:
        return TrainingModel(*arguments)
    model_class = SynchronousTrainingModel if has_replicas else AccumulatingTrainingModel
    return model_class(*arguments, micro_batches=options.micro_batches)


def _check_start(
    start: StartingPoint,
    corpus: Corpus | PreparedCorpus,
    config: TransformerConfig,
    options: TrainOptions,
) -> None:
    """Raises before any work where what exists does not fit what is to be trained."""
    start.check_corpus(corpus)
    start.check_config(config)
    keras.activations.get(config.activation)
    if start.tokenizers is not None and options.subword_sampling:
        sampling_type(start.tokenizers[0])


def _prepared_tokenizers(corpus: Corpus | PreparedCorpus) -> Tokenizers | None:
    if isinstance(corpus, PreparedCorpus):
        return corpus.source_tokenizer, corpus.target_tokenizer
    return None


def _save_model(model: Transformer, path: Path) -> None:
    needed_bytes = sum(weight.nbytes for weight in model.get_weights())
    with whole_file(path, needed_bytes) as partial:
        model.save(partial)


def load_run(directory: str | os.PathLike[str]) -> tuple[Transformer, Tokenizer, Tokenizer]:
    """Loads a finished run: its model and both tokenizers (one object where they are shared)."""
    run = RunDirectory(Path(directory))
    run.check_finished()
    return keras.saving.load_model(run.model), *run.load_tokenizers()


def _versions() -> dict[str, str]:
    names = ("keras", "tensorflow", "tensorflow-text", "sentencepiece", "numpy")
    return {**imported_versions(*names), "backend": keras.backend.backend()}
