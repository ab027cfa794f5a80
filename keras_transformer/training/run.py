"""A whole training run: a corpus comes in, a run directory leaves, and a killed run goes on."""

import dataclasses
import importlib.metadata
import math
import os
import sys
from pathlib import Path
from typing import Any

import keras

from keras_transformer.config import TransformerConfig
from keras_transformer.data.batching import (
    batches_per_epoch,
    evaluation_batches,
    training_batches,
)
from keras_transformer.data.corpus import Corpus
from keras_transformer.data.encoding import EncodedPairs, encode_pairs
from keras_transformer.models import Transformer, build_transformer
from keras_transformer.text.tokenizer import ModelType, Tokenizer, train_tokenizer
from keras_transformer.training.callbacks import Checkpoints, LearningRateLog, StopAtStep
from keras_transformer.training.checkpoints import (
    average_checkpoints,
    checkpoint_step,
    list_checkpoints,
    load_checkpoint,
)
from keras_transformer.training.loss import SmoothedCrossEntropy
from keras_transformer.training.metrics import Perplexity, TokenAccuracy
from keras_transformer.training.options import TrainOptions
from keras_transformer.training.run_directory import RunDirectory
from keras_transformer.training.schedule import WarmupSchedule

MOST_STEPS_BETWEEN_CHECKPOINTS = 1000


def train(
    corpus: Corpus,
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
        corpus: Training pairs and, optionally, validation pairs.
        directory: Run directory, made where missing; `docs/concepts.md` lists its files.
        preset: A size that `TransformerConfig.preset` knows.
        overrides: Fields of the config that replace the preset's.
        vocab_size: Pieces of the vocabulary (of each, with two).
        tokenizer_type: "unigram" or "bpe".
        joint_vocabulary: Whether source and target share a vocabulary.
        options: How to train.
        resume: Whether to go on from the newest checkpoint in `directory`; with none there,
            training starts from the beginning.
        callbacks: More Keras callbacks.

    Returns:
        The trained model, averaged over the last checkpoints, as saved in `model.keras`.

    Raises:
        FileExistsError: The directory holds a run already and `resume` is False.
        ValueError: The run to resume was started with other settings.
    """
    options = options or TrainOptions()
    run = RunDirectory(Path(directory))
    _prepare_directory(run, resume)
    keras.utils.set_random_seed(options.seed)

    source_tokenizer, target_tokenizer = _tokenizers(
        run, corpus, vocab_size, tokenizer_type, joint_vocabulary
    )
    config = _config(preset, overrides or {}, source_tokenizer, target_tokenizer)
    if config.max_positions is not None and options.max_length > config.max_positions:
        raise ValueError(
            f"max_length ({options.max_length}) is more than the model's max_positions "
            f"({config.max_positions}): lower max_length or raise max_positions."
        )
    encoded = encode_pairs(corpus.train, source_tokenizer, target_tokenizer, options.max_length)
    print(f"training pairs: {encoded.report}")
    valid = None
    if corpus.valid is not None:
        valid = encode_pairs(corpus.valid, source_tokenizer, target_tokenizer, options.max_length)
        print(f"validation pairs: {valid.report}")

    record = {
        "config": config.to_dict(),
        "options": options.to_dict(),
        "data": {
            "origin": corpus.train.origin,
            "vocab_size": vocab_size,
            "tokenizer_type": tokenizer_type,
            "joint_vocabulary": joint_vocabulary,
            "train": dataclasses.asdict(encoded.report),
            "valid": dataclasses.asdict(valid.report) if valid else None,
        },
        "versions": _versions(),
    }
    history = _check_same_run(run, record) if resume else {}
    run.save_config(config)
    model = compile_transformer(build_transformer(config, options.dtype_policy), options)
    history = _fit(run, model, encoded, valid, options, history, record, callbacks or [])
    average_checkpoints(model, list_checkpoints(run.checkpoints)[-options.average_checkpoints :])
    _save_model(model, run.model)
    run.save_training({**record, "history": history, "finished": True})
    return model


def compile_transformer(model: Transformer, options: TrainOptions) -> Transformer:
    """Compiles a model with the paper's optimizer, schedule and loss (sections 5.3, 5.4)."""
    optimizer = keras.optimizers.Adam(
        WarmupSchedule(options.learning_rate, options.warmup_steps),
        beta_1=0.9,
        beta_2=options.beta_2,
        epsilon=options.epsilon,
        global_clipnorm=options.clip_norm,
    )
    model.compile(
        optimizer=optimizer,
        loss=SmoothedCrossEntropy(options.label_smoothing),
        weighted_metrics=[TokenAccuracy(), Perplexity()],
        jit_compile=options.jit_compile,
    )
    model.optimizer.build(model.trainable_variables)
    return model


def _prepare_directory(run: RunDirectory, resume: bool) -> None:
    run.path.mkdir(parents=True, exist_ok=True)
    started = run.model.exists() or list_checkpoints(run.checkpoints)
    if started and not resume:
        raise FileExistsError(
            f"{run.path} holds a run already: continue it with resume (--resume), or choose "
            "another directory."
        )


def _tokenizers(
    run: RunDirectory,
    corpus: Corpus,
    vocab_size: int,
    tokenizer_type: ModelType,
    joint_vocabulary: bool,
) -> tuple[Tokenizer, Tokenizer]:
    if list_checkpoints(run.checkpoints):
        return run.load_tokenizers()
    if joint_vocabulary:
        sentences = [*corpus.train.source, *corpus.train.target]
        source = target = train_tokenizer(sentences, vocab_size, tokenizer_type)
    else:
        source = train_tokenizer(corpus.train.source, vocab_size, tokenizer_type)
        target = train_tokenizer(corpus.train.target, vocab_size, tokenizer_type)
    run.save_tokenizers(source, target)
    return source, target


def _config(
    preset: str, overrides: dict[str, Any], source: Tokenizer, target: Tokenizer
) -> TransformerConfig:
    fields = {"target_vocab_size": target.vocab_size, **overrides}
    if source is not target:
        fields.setdefault("share_embeddings", "target")
    return TransformerConfig.preset(preset, vocab_size=source.vocab_size, **fields)


def _check_same_run(run: RunDirectory, record: dict[str, Any]) -> dict[str, list[float]]:
    """Returns the history of the run to resume, after checking that its settings are these."""
    if not list_checkpoints(run.checkpoints):
        return {}
    saved = run.load_training()
    may_change = {"epochs", "max_steps", "average_checkpoints"}
    for part in ("config", "options", "data"):
        for name in sorted(set(saved[part]) | set(record[part])):
            before, now = saved[part].get(name), record[part].get(name)
            if before != now and name not in may_change:
                raise ValueError(
                    f"{run.path} was started with {name}={before!r}, not {now!r}: resume with "
                    "the same settings, or train into another directory."
                )
    return saved.get("history", {})


def _fit(
    run: RunDirectory,
    model: Transformer,
    encoded: EncodedPairs,
    valid: EncodedPairs | None,
    options: TrainOptions,
    history: dict[str, list[float]],
    record: dict[str, Any],
    callbacks: list[keras.callbacks.Callback],
) -> dict[str, list[float]]:
    """Runs `fit` in rounds of `checkpoint_steps` updates, from the newest checkpoint on."""
    per_epoch = batches_per_epoch(encoded, options.batch_tokens)
    total = options.epochs * per_epoch
    if options.max_steps is not None:
        total = min(total, options.max_steps)
    between_checkpoints = min(MOST_STEPS_BETWEEN_CHECKPOINTS, per_epoch)
    round_steps = min(options.checkpoint_steps or between_checkpoints, total)
    done = 0
    saved = list_checkpoints(run.checkpoints)
    if saved:
        load_checkpoint(model, saved[-1])
        done = checkpoint_step(saved[-1])
    if done >= total:
        return history
    first_round = done // round_steps
    history = {name: values[:first_round] for name, values in history.items()}

    def remember(epoch: int, logs: dict[str, Any] | None = None) -> None:
        for name, value in (logs or {}).items():
            history.setdefault(name, []).append(float(value))
        run.save_training({**record, "history": history, "finished": False})

    run.save_training({**record, "history": history, "finished": False})
    model.fit(
        training_batches(encoded, options.batch_tokens, options.seed, start_step=done),
        steps_per_epoch=round_steps,
        initial_epoch=first_round,
        epochs=math.ceil(total / round_steps),
        validation_data=evaluation_batches(valid, options.batch_tokens) if valid else None,
        callbacks=[
            StopAtStep(total),
            LearningRateLog(),
            keras.callbacks.LambdaCallback(on_epoch_end=remember),
            Checkpoints(run.checkpoints, keep=options.average_checkpoints),
            keras.callbacks.TensorBoard(str(run.logs), write_graph=False),
            *callbacks,
        ],
        shuffle=False,
        verbose=1 if sys.stdout.isatty() else 2,
    )
    return history


def _save_model(model: Transformer, path: Path) -> None:
    partial = path.with_name("partial." + path.name)
    model.save(partial)
    os.replace(partial, path)


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
