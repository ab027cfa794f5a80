"""`keras-transformer train`: trains a model on text and writes a run directory."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from keras_transformer.cli.artefact import check_finished_run
from keras_transformer.cli.corpora import DataOptions, default_vocab_size, open_corpus
from keras_transformer.cli.flags.products import check_products, choose_products
from keras_transformer.cli.flags.run import RunOptions
from keras_transformer.cli.flags.text_sources import PlainText, TextFlags
from keras_transformer.cli.flags.training import (
    DEMO_MODEL,
    DEMO_TRAINING,
    MODEL_FIELDS,
    VOCAB_FIELDS,
    add_model_flags,
    add_recipe_flags,
    model_overrides,
    open_vocabularies,
)
from keras_transformer.cli.keras_side import (
    ThreadOptions,
    limit_threads,
    load_training,
    require_training,
)
from keras_transformer.cli.parser import CommandParser, flags_in_errors, read_fields
from keras_transformer.cli.single_texts import single_stack_fields, text_recipe, train_on_texts
from keras_transformer.config import PRESETS, SpecialIds
from keras_transformer.runs.checkpoints import checkpoint_step, list_to_resume
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.vocabulary_size import MOST_PIECES
from keras_transformer.training.defaults import default_recipe
from keras_transformer.training.recipes import Recipe
from keras_transformer.training.run.model_config import DEFAULT_PRESET, model_config, vocabulary_of
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.resuming import refuse_to_overwrite
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.transfer.initial_embeddings import InitialVectors
from keras_transformer.whole_files import check_output

# The fields of models with one stack that an encoder-decoder lacks, by the class of their config.
_MORE_MODEL_FIELDS = single_stack_fields(MODEL_FIELDS | set(VOCAB_FIELDS))
# Cutoffs are a flag of their own.
_ALL_MODEL_FIELDS = MODEL_FIELDS.union(*_MORE_MODEL_FIELDS.values()) - {"cutoffs"}
_LABELLED = dict.fromkeys(
    ("train_tsv", "valid_tsv"),
    "with --task classify: label, tab, text, or two texts; with rerank: score of 0 to 1, "
    "query, text; with embed: two texts; or .csv",
)
# What `--help` shows; the others are for those who know what they look for.
_BRIEF = {
    "--data": "Kind of pairs to translate by.",
    "--train-source": "Text of --data files, a sentence a line.",
    "--train-target": "Its translation, line by line.",
    "--valid-source": "Text to validate on.",
    "--valid-target": "Its translation.",
    "--train-tsv": "Pairs, or label, tab and text (classify).",
    "--valid-tsv": "The same to validate on.",
    "--train-text": "Plain text (masked-lm, causal-lm).",
    "--valid-text": "The same to validate on.",
    "--output": "Run directory to write.",
    "--task": "What to train.",
    "--preset": "Size of the model, and its recipe.",
    "--vocab-size": "Pieces of the vocabulary.",
    "--markup": "Placeholders and tags that translations keep.",
    "--init": "Finished run to start from.",
    "--resume": "Continue a run that was stopped.",
    "--dry-run": "Print the plan and how long it takes.",
    "--print-config": "Print all options for --config.",
    "--epochs": "Passes over the text.",
    "--max-steps": "Most updates.",
    "--batch-tokens": "Most tokens of a batch.",
    "--learning-rate": "Peak of the learning rate.",
}


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    parser = build_parser()
    given = parser.parse(arguments)
    limit_threads(read_fields(given, ThreadOptions).threads)
    run = read_fields(given, RunOptions)
    train = _translation if run.task == "translation" else _on_texts
    # Standard output holds the YAML alone.
    with redirect_stdout(sys.stderr) if run.print_config else nullcontext():
        history = train(given, run)
    if run.print_config:
        _settle(given, history.params)
        print(parser.written(given), end="")
        return 0
    if run.dry_run:
        print("nothing was written: run the command without --dry-run to train")
        return 0
    size = history.model.count_params()
    print(f"trained model: {run.output / 'model.keras'} ({size:,} parameters)")
    if given.lora_rank:
        print(f"its adapter alone: {RunDirectory(run.output).adapter}")
    return 0


def _settle(given: Namespace, planned: dict[str, Any]) -> None:
    """Gives the flags that were left open the values that a planned run has."""
    given.print_config = False
    for name, value in planned["options"].items():
        if name in given:
            given[name] = list(value) if isinstance(value, tuple) else value
    config = planned["config"]
    for name, value in given.model.items():
        if value is None:
            given.model[name] = config.get(name)
    sizes = {size for name, size in config.items() if name.endswith("vocab_size")}
    if given.data != "prepared" and not (given.tokenizer or given.init or given.init_decoder):
        # Two vocabularies of which one has fewer pieces are asked for by the larger number.
        given.vocab_size = max(sizes)


def _translation(given: Namespace, run: RunOptions) -> Any:
    """Trains on parallel text; returns Keras's history."""
    data = read_fields(given, DataOptions)
    _refuse_text_flags(given, run)
    _refuse_vocabulary(data.data, run)
    tokenizers = open_vocabularies(run.tokenizer)
    is_demo = data.data == "demo"
    recipe = _recipe(data, run)
    options = read_fields(given, TrainOptions).filled(recipe.settings())
    overrides = {**(DEMO_MODEL if is_demo else {}), **model_overrides(given["model"])}
    with flags_in_errors(DataOptions, RunOptions, TrainOptions, model_fields=MODEL_FIELDS):
        _check_first(data, run, tokenizers, options, overrides)
        if options.strategy:
            # Before the corpus is read: TensorFlow joins a cluster first or not at all.
            load_training()
            from keras_transformer.training.loop.strategy import open_replicas

            open_replicas(options.strategy)
        with _advice_when_interrupted(run.output):
            return _train(data, run, tokenizers, options, recipe, overrides)


def _recipe(data: DataOptions, run: RunOptions) -> Recipe:
    """Returns the recipe that fills in the options which are not given."""
    begun = None
    if run.whole_start is not None:
        check_finished_run(run.whole_start)
        begun = RunDirectory(run.whole_start)
    recipe = default_recipe(
        begun,
        run.preset,
        has_general=bool(data.general_source),
        is_text=data.data != "prepared",
    )
    is_demo = data.data == "demo" and (begun is None or not begun.is_translation)
    return replace(recipe, **DEMO_TRAINING) if is_demo else recipe


def _on_texts(given: Namespace, run: RunOptions) -> Any:
    """Trains on single texts; returns Keras's history."""
    _refuse_vocabulary(given.data, run)
    _refuse_fields_of_decoders(run)
    tokenizers = open_vocabularies(run.tokenizer)
    recipe = text_recipe(run, adapts=given["lora_rank"] > 0)
    options = read_fields(given, TrainOptions).filled(recipe.settings())
    overrides = model_overrides(given["model"])
    if run.memory_length is not None:
        overrides["memory_length"] = run.memory_length
    if run.cutoffs:
        overrides["cutoffs"] = tuple(run.cutoffs)
    flags = TextFlags, DataOptions, RunOptions, TrainOptions, TextOptions
    with (
        flags_in_errors(*flags, model_fields=_ALL_MODEL_FIELDS),
        _advice_when_interrupted(run.output),
    ):
        return train_on_texts(given, run, tokenizers, options, recipe, overrides)


def _refuse_fields_of_decoders(run: RunOptions) -> None:
    """Refuses flags of the model that only decoders alone have."""
    for name in ("memory_length", "cutoffs"):
        if getattr(run, name) not in (None, []) and run.task != "causal-lm":
            flag = name.replace("_", "-")
            raise ValueError(f"--{flag} is for --task causal-lm, not for {run.task}.")


def _refuse_text_flags(given: Namespace, run: RunOptions) -> None:
    """Refuses flags that only the tasks on single texts read."""
    for name in ("train_text", "valid_text", "train_jsonl", "valid_jsonl"):
        if given[name]:
            what = "plain text" if name.endswith("text") else "of single texts"
            raise ValueError(
                f"--{name.replace('_', '-')} is {what}: give --task masked-lm, permutation-lm or "
                "causal-lm."
            )
    if given["multi_label"]:
        raise ValueError("--multi-label is for --task classify with --train-tsv.")
    _refuse_fields_of_decoders(run)
    if run.preset not in (None, *PRESETS):
        raise ValueError(
            f"--preset {run.preset} is not for --task translation, which takes "
            f"{', '.join(PRESETS)}."
        )
    read_fields(given, TextOptions).check(run.task)
    foreign = sorted(set(model_overrides(given["model"])) - MODEL_FIELDS)
    if foreign:
        raise ValueError(f"--model.{foreign[0].replace('_', '-')} is not for --task translation.")


def _check_first(
    data: DataOptions,
    run: RunOptions,
    tokenizers: tuple[Tokenizer, Tokenizer] | None,
    options: TrainOptions,
    overrides: dict[str, Any],
) -> None:
    """Refuses wrong settings before the text is read and TensorFlow loaded, which takes seconds."""
    require_training()
    check_output(run.output, is_directory=True)
    refuse_to_overwrite(RunDirectory(run.output), resume=run.resume)
    for begun in (run.init, run.init_decoder):
        if begun is not None:
            check_finished_run(begun)
    has_weights = bool(run.init or run.init_decoder)
    can_rehearse = run.whole_start is not None and data.data != "prepared"
    options.check_start(has_weights=has_weights, can_rehearse=can_rehearse)
    check_products(run.products, options)
    vectors = InitialVectors.open(
        run.init_vectors, run.init_target_vectors, has_weights=has_weights
    )
    size = run.vocab_size or MOST_PIECES
    vocabulary = (size, size), run.joint_vocabulary, SpecialIds()
    if tokenizers is not None:
        vocabulary = vocabulary_of(*tokenizers)
    if run.init is not None and run.preset is None:
        return  # The size is that of the run.
    preset = run.preset or DEFAULT_PRESET
    config = model_config(preset, overrides, *vocabulary, max_length=options.max_length)
    vectors.check(config)


def _train(
    data: DataOptions,
    run: RunOptions,
    tokenizers: tuple[Tokenizer, Tokenizer] | None,
    options: TrainOptions,
    recipe: Recipe,
    overrides: dict[str, Any],
) -> Any:
    is_demo = data.data == "demo"
    vocab_size = run.vocab_size
    if vocab_size is None and is_demo and tokenizers is None and not (run.init or run.init_decoder):
        vocab_size = default_vocab_size(data)
    corpus = open_corpus(data)  # before TensorFlow is loaded: a missing file is told at once
    options.check_validation(has_valid=corpus.valid is not None)
    training = load_training()
    choose_products(run.products, options)
    return training.train(
        corpus,
        run.output,
        task=run.task,
        preset=run.preset,
        overrides=overrides,
        vocab_size=vocab_size,
        tokenizer_type=run.tokenizer_type,
        joint_vocabulary=run.joint_vocabulary,
        tokenizers=tokenizers,
        init=run.init,
        init_decoder=run.init_decoder,
        init_vectors=run.init_vectors,
        init_target_vectors=run.init_target_vectors,
        options=options,
        recipe=recipe,
        resume=run.resume,
        **run.trial(),
    )


@contextmanager
def _advice_when_interrupted(output: Path) -> Iterator[None]:
    """Makes Ctrl-C and SIGTERM print how to continue the run, and from which update."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        kept = list_to_resume(RunDirectory(output).checkpoints)
        advice = "no checkpoint was written yet: run the same command with --resume to start again"
        if kept:
            step = checkpoint_step(kept[-1])
            advice = f"run the same command with --resume to continue after update {step:,}"
        raise type(interrupt)(f": {advice}.") from interrupt


def _refuse_vocabulary(data: str, run: RunOptions) -> None:
    """Refuses flags of the vocabulary if it is already fixed by another flag."""
    given = [
        f"--{name.replace('_', '-')}"
        for name in ("vocab_size", "tokenizer_type", "joint_vocabulary")
        if getattr(run, name) != getattr(RunOptions, name)
    ]
    if run.tokenizer:
        given.append("--tokenizer")
    if data == "prepared" and given:
        raise ValueError(
            f"{given[0]} cannot be changed after the corpus was prepared: leave it out, or "
            "prepare the corpus again."
        )
    # Other tasks than translation refuse --init-decoder itself.
    begun = run.init or (run.init_decoder if run.task == "translation" else None)
    if begun and given:
        raise ValueError(
            f"{given[0]} sets a vocabulary, but the run starts with that of {begun}: leave it out."
        )
    if run.tokenizer and given[0] != "--tokenizer":
        raise ValueError(
            f"{given[0]} is for training a vocabulary, but --tokenizer gives a trained one: leave "
            "one of the two out; for separate vocabularies give --tokenizer two models."
        )


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    # What the recipe decides is printed, too, which takes the corpus.
    summary = "Train a Transformer: on parallel, plain or labelled text."
    parser = CommandParser("train", summary, prints_config=False)
    parser.add_fields(DataOptions, title="data", notes=_LABELLED)
    parser.add_fields(PlainText, title="single texts")
    parser.add_fields(TextOptions, title="what is made of plain text")
    parser.add_fields(RunOptions, title="run")
    parser.add_fields(ThreadOptions, title="machine")
    add_recipe_flags(parser)
    add_model_flags(parser)
    for family, names in _MORE_MODEL_FIELDS.items():
        parser.add_fields(
            family,
            title=f"model ({family.family} alone)",  # type: ignore[attr-defined]
            prefix="model.",
            skip=[field.name for field in fields(family) if field.name not in names],
            defaults=dict.fromkeys(names),
        )
    parser.shorten_help(_BRIEF)
    return parser
