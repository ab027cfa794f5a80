"""`keras-transformer train` on plain or labelled texts."""

from dataclasses import fields
from typing import Any

from jsonargparse import Namespace

from keras_transformer.cli.artefact import check_finished_run
from keras_transformer.cli.corpora import DataOptions, flag_default, read_corpus
from keras_transformer.cli.flags.products import check_products, choose_products
from keras_transformer.cli.flags.run import RunOptions
from keras_transformer.cli.flags.text_sources import TextFlags
from keras_transformer.cli.keras_side import load_training, require_training
from keras_transformer.cli.parser import flag_of, read_fields
from keras_transformer.config import SpecialIds, TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.vocabulary_size import MOST_PIECES
from keras_transformer.training.recipes import Recipe, nearest_preset, presets_of, recipe_of
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.resuming import refuse_to_overwrite
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.transfer.initial_embeddings import InitialVectors
from keras_transformer.whole_files import check_output

# The family of each task.
FAMILIES: dict[str, Any] = {
    "masked-lm": EncoderConfig,
    "permutation-lm": EncoderConfig,
    "causal-lm": DecoderConfig,
    "classify": EncoderConfig,
    "rerank": EncoderConfig,
    "tag": EncoderConfig,
    "embed": EncoderConfig,
    "denoising": TransformerConfig,
}
# The data flags that tasks on single texts do not have.
_OF_TRANSLATION = (
    "train_source",
    "train_target",
    "valid_source",
    "valid_target",
    "train_files",
    "valid_files",
    "demo_size",
    "general_source",
    "general_target",
    "general_share",
)
_COLUMNS = ("source_column", "target_column")


def recipe_preset(run: RunOptions) -> str:
    """Returns the preset whose recipe a run follows: its own, or that of the size to start from."""
    if run.preset is not None:
        return run.preset
    begun = None if run.init is None else RunDirectory(run.init).load_config()
    return nearest_preset(run.task, FAMILIES[run.task], begun)


def text_recipe(run: RunOptions, *, adapts: bool) -> Recipe:
    """Checks preset and starting point and returns the recipe of a run on single texts.

    Args:
        run: What is trained.
        adapts: Whether only the low-rank matrices of LoRA are trained.

    Raises:
        FileNotFoundError: The run to start from is missing.
        ValueError: The preset is of another family, or the directory to start from is not a run.
    """
    presets = presets_of(run.task, FAMILIES[run.task])
    if run.preset is not None and run.preset not in presets:
        raise ValueError(
            f"--preset {run.preset} is not for --task {run.task}, which takes {', '.join(presets)}."
        )
    if run.init is not None:
        check_finished_run(run.init)
    preset = recipe_preset(run)
    return recipe_of(run.task, preset, has_weights=run.init is not None, adapts=adapts)


def train_on_texts(
    given: Namespace,
    run: RunOptions,
    tokenizers: tuple[Any, Any] | None,
    options: TrainOptions,
    recipe: Recipe,
    overrides: dict[str, Any],
) -> Any:
    """Reads the text, trains and returns Keras's history.

    Args:
        given: The parsed flags.
        run: The run's own.
        tokenizers: One existing tokenizer, twice; None to train one.
        options: The training options that were given.
        recipe: The recipe that decides the rest.
        overrides: Fields of the model's config.
    """
    require_training()
    check_output(run.output, is_directory=True)
    refuse_to_overwrite(RunDirectory(run.output), resume=run.resume)
    if tokenizers is not None and tokenizers[0] is not tokenizers[1]:
        raise ValueError(f"--tokenizer takes one model for --task {run.task}, got two.")
    if run.init_decoder is not None:
        raise ValueError(f"--init-decoder is for --task translation: give {run.task} --init.")
    if not run.joint_vocabulary:
        raise ValueError(f"--no-joint-vocabulary is for --task translation, not for {run.task}.")
    if run.init_target_vectors is not None:
        raise ValueError(f"--init-target-vectors is for --task translation, not for {run.task}.")
    options.check_start(has_weights=run.init is not None)
    options.check_translations(run.task)
    check_products(run.products, options)
    vectors = InitialVectors.open(run.init_vectors, has_weights=run.init is not None)
    flags = read_fields(given, TextFlags)
    flags.check(run.task)
    if run.task == "embed":
        options.check_own_loss("embed, which distinguishes each text from all others of its batch")
    text_options = read_fields(given, TextOptions)
    text_options.check(run.task)
    if given.data == "prepared":
        text_options.check_prepared()
    _refuse_other_data(given, run.task)
    columns = _columns(given, run.task)
    if given.data != "prepared":
        vectors.check(_planned_config(run, tokenizers, overrides, options.max_length))
    # Before TensorFlow is loaded: a missing file is told at once.
    corpus = flags.read(run.task) if columns is None else read_corpus(columns)
    text_options.check_texts([one for one in (corpus.train, corpus.valid) if one])
    options.check_validation(has_valid=corpus.valid is not None)
    training = load_training()
    if options.strategy:
        from keras_transformer.training.loop.strategy import open_replicas

        open_replicas(options.strategy)
    choose_products(run.products, options)
    return training.train(
        corpus,
        run.output,
        task=run.task,
        preset=run.preset,
        overrides=overrides,
        vocab_size=run.vocab_size,
        tokenizer_type=run.tokenizer_type,
        tokenizer=tokenizers[0] if tokenizers else None,
        init=run.init,
        init_vectors=run.init_vectors,
        options=options,
        recipe=recipe,
        text_options=text_options,
        resume=run.resume,
        **run.trial(),
    )


def _refuse_other_data(given: Namespace, task: str) -> None:
    """Raises an error that names a flag which would have no effect."""
    if given.data not in ("demo", "tsv", "tfds", "prepared"):
        raise ValueError(f"--data {given.data} is for --task translation, not for {task}.")
    owners = dict.fromkeys(_OF_TRANSLATION, "translation")
    if task != "embed":
        owners |= dict.fromkeys(_COLUMNS, "translation and embed")
    for name, owner in owners.items():
        if given[name] != flag_default(name):
            raise ValueError(f"{flag_of(name)} is for --task {owner}, not for {task}.")


def _columns(given: Namespace, task: str) -> DataOptions | None:
    """Returns how pairs are read from the columns that flags name; None for the first two."""
    named = {name: given[name] for name in _COLUMNS if given[name] != flag_default(name)}
    if task != "embed" or not named:
        return None
    if given.data not in ("demo", "tsv") or given.train_jsonl or given.valid_jsonl:
        raise ValueError(
            f"{flag_of(next(iter(named)))} belongs to --train-tsv and --valid-tsv: leave it out, "
            "or give all pairs in such files."
        )
    files = {name: given[name] for name in ("train_tsv", "valid_tsv")}
    return DataOptions(data="tsv", **files, **named)


def _planned_config(
    run: RunOptions, tokenizers: tuple[Any, Any] | None, overrides: dict[str, Any], max_length: int
) -> Any:
    """Refuses wrong fields of the model before the text is read and TensorFlow is loaded."""
    from keras_transformer.training.texts.model_config import text_model_config

    family = FAMILIES[run.task]
    begun = None if run.init is None else RunDirectory(run.init).load_config()
    start = begun if run.preset is None and isinstance(begun, family) else None
    if tokenizers is not None:
        vocab_size = tokenizers[0].vocab_size
    elif isinstance(begun, TransformerConfig):
        vocab_size = begun.source_vocab_size
    elif begun is not None:
        vocab_size = begun.vocab_size
    else:
        vocab_size = run.vocab_size or MOST_PIECES
    return text_model_config(
        family,
        run.preset or presets_of(run.task, family)[0],
        overrides,
        start=start,
        head={},
        vocab_size=vocab_size,
        special_ids=SpecialIds(),
        max_length=max_length,
    )


def single_stack_fields(known: set[str]) -> dict[type, list[str]]:
    """Returns the fields of each family's config that get a flag `--model.*` and are not yet known.

    Args:
        known: Fields that have one already.
    """
    fixed = {"direction", "vocab_size", "special_ids", "head", "labels", "multi_label"}
    fixed |= {"crf", "dense", "features", "query_stream"}
    found: dict[type, list[str]] = {}
    for family in (EncoderConfig, DecoderConfig):
        names = [field.name for field in fields(family) if field.name not in known | fixed]
        found[family] = names
        known = known | set(names)
    return found
