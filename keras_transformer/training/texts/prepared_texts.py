"""Prepared single texts as the training data of a run, without reading their shards."""

import dataclasses
from collections.abc import Callable

from keras_transformer.config.families import ModelConfig
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.prepared.text_batches import ShardedTexts
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.tasks.training_data import TrainingData, check_prepared_length
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.tasks import TextKind


def check_prepared(name: str, kind: TextKind, corpus: PreparedCorpus, options: TextOptions) -> None:
    """Raises `ValueError` if a task does not learn from prepared texts, or not from these."""
    if kind.objective is None:
        raise ValueError(f"a prepared corpus is not for {name}: train on the files.")
    if not corpus.is_single:
        raise ValueError(
            f"the corpus was prepared of pairs, and {name} needs single texts: prepare them with "
            "--train-text."
        )
    options.check_prepared()


def open_prepared_texts(
    kind: TextKind,
    corpus: PreparedCorpus,
    run: RunDirectory,
    options: TrainOptions,
    text_options: TextOptions,
    model_config: Callable[[Tokenizer], ModelConfig],
) -> TrainingData:
    """Takes tokenizer and texts from a prepared corpus.

    Args:
        kind: What the model learns.
        corpus: The texts.
        run: The run directory in which to save the tokenizer.
        options: Longest row.
        text_options: What is made of the texts.
        model_config: Returns the model's config for a tokenizer.

    Raises:
        ValueError: The corpus holds longer texts.
    """
    check_prepared_length(corpus, options)
    tokenizer = corpus.source_tokenizer
    if kind.objective is None:
        raise ValueError("the task has no objective for prepared texts.")
    objective = kind.objective(tokenizer, model_config(tokenizer), text_options)
    begin = getattr(tokenizer.special_ids, kind.begins_with)

    def texts(use: str) -> ShardedTexts | None:
        pairs = getattr(corpus, use)
        if pairs is None:
            return None
        found = ShardedTexts(pairs.directory, pairs.split, pairs.pad, begin, objective)
        print(f"{use}: {found.report}")
        return found

    train, valid = texts("train"), texts("valid")
    if train is None:
        raise ValueError("the corpus has no training texts.")
    if not run.has_checkpoints and run.is_chief:
        run.save_tokenizers(tokenizer, tokenizer)
    record = {
        **text_options.to_dict(),
        "origin": "prepared",
        "vocab_size": tokenizer.vocab_size,
        "made_from": corpus.record.made_from,
        "train": dataclasses.asdict(train.report),
        "valid": dataclasses.asdict(valid.report) if valid else None,
    }
    return TrainingData(tokenizer, tokenizer, train, valid, record, corpus.record.training_text)
