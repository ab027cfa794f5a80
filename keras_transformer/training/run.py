"""A whole training run: a corpus comes in, a run directory leaves, and a killed run goes on."""

import importlib.metadata
import os
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.config import TransformerConfig
from keras_transformer.data.corpus import Corpus
from keras_transformer.data.prepared import PreparedCorpus
from keras_transformer.models import Transformer, build_transformer
from keras_transformer.text.tokenizer import ModelType, Tokenizer
from keras_transformer.training.accumulation import AccumulatingTrainingModel
from keras_transformer.training.adam import FusedAdam
from keras_transformer.training.data import TrainingData, encode_corpus, open_prepared
from keras_transformer.training.fitting import fit_rounds, planned_updates
from keras_transformer.training.history import History
from keras_transformer.training.memory import keep_freed_memory
from keras_transformer.training.options import TrainOptions
from keras_transformer.training.recovery import average_newest, restore_best
from keras_transformer.training.resuming import history_to_resume, refuse_to_overwrite
from keras_transformer.training.run_directory import RunDirectory
from keras_transformer.training.schedule import WarmupSchedule
from keras_transformer.training.strategy import open_replicas
from keras_transformer.training.synchronous import SynchronousAdam, SynchronousTrainingModel
from keras_transformer.training.training_model import TrainingModel
from keras_transformer.whole_files import whole_file


def train(
    corpus: Corpus | PreparedCorpus,
    directory: str | os.PathLike[str],
    *,
    preset: str = "tiny",
    overrides: dict[str, Any] | None = None,
    vocab_size: int = 8000,
    tokenizer_type: ModelType = "unigram",
    joint_vocabulary: bool = True,
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
        vocab_size: Pieces of the vocabulary (of each, with two).
        tokenizer_type: "unigram" or "bpe".
        joint_vocabulary: Whether source and target share a vocabulary.
        options: How to train; `TrainOptions.preset(preset)` if None.
        resume: Whether to go on from the newest checkpoint in `directory`; with none there,
            training starts from the beginning.
        callbacks: More Keras callbacks.

    Returns:
        The trained model, averaged over the last checkpoints, as saved in `model.keras`.

    Raises:
        FileExistsError: The directory holds a run already and `resume` is False.
        ValueError: The run to resume was started with other settings, or an option needs
            validation pairs and there are none.
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
                vocab_size=vocab_size,
                tokenizer_type=tokenizer_type,
                joint_vocabulary=joint_vocabulary,
                max_length=options.max_length,
                subword_sampling=options.subword_sampling,
            )
    config = _config(preset, overrides or {}, data, options)
    record = {
        "config": config.to_dict(),
        "options": options.to_dict(),
        "data": data.record,
        "versions": _versions(),
    }
    history = history_to_resume(run, record) if resume else History()
    run.save_config(config)
    with replicas.scope():
        model = build_transformer(config, options.dtype_policy)
        trained = compile_transformer(model, options, planned_updates(data, options))
    keep_freed_memory()
    history = fit_rounds(run, trained, data, options, record, history, callbacks or [])
    with replicas.chief_first():
        if run.is_chief:
            _finish(run, trained, options, record, history)
    # What was trained in a strategy has its weights once a replica.
    return model if replicas.strategy is None else keras.saving.load_model(run.model)


def _finish(
    run: RunDirectory,
    trained: TrainingModel,
    options: TrainOptions,
    record: dict[str, Any],
    history: History,
) -> None:
    """Makes the final weights of the checkpoints and saves the model."""
    if options.final_model == "best":
        restore_best(trained, run.checkpoints, history)
    else:
        average_newest(trained, run.checkpoints, options.average_checkpoints)
    _save_model(trained.transformer, run.model)
    run.save_training(record, history, finished=True)


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


def _config(
    preset: str, overrides: dict[str, Any], data: TrainingData, options: TrainOptions
) -> TransformerConfig:
    fields = {"target_vocab_size": data.target_tokenizer.vocab_size, **overrides}
    if data.source_tokenizer is not data.target_tokenizer:
        fields.setdefault("share_embeddings", "target")
    vocab_size = data.source_tokenizer.vocab_size
    config = TransformerConfig.preset(preset, vocab_size=vocab_size, **fields)
    if config.max_positions is not None and options.max_length > config.max_positions:
        raise ValueError(
            f"max_length ({options.max_length}) is more than the model's max_positions "
            f"({config.max_positions}): lower max_length or raise max_positions."
        )
    return config


def _save_model(model: Transformer, path: Path) -> None:
    needed_bytes = sum(weight.nbytes for weight in model.get_weights())
    with whole_file(path, needed_bytes) as partial:
        model.save(partial)


def load_run(directory: str | os.PathLike[str]) -> tuple[Transformer, Tokenizer, Tokenizer]:
    """Loads a finished run: its model and both tokenizers (one object where they are shared)."""
    run = RunDirectory(Path(directory))
    run.load_config()
    if not run.model.exists():
        raise FileNotFoundError(
            f"{run.model} is missing: the run has not finished; continue it with --resume."
        )
    return keras.saving.load_model(run.model), *run.load_tokenizers()


def _versions() -> dict[str, str]:
    names = ("keras", "tensorflow", "tensorflow-text", "sentencepiece", "numpy")
    versions = {name: importlib.metadata.version(name) for name in names}
    return {**versions, "backend": keras.backend.backend()}
