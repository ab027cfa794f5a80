"""The flags of a training that depend on a preset's recipe, and those of a translation's model, for
the commands that train.
"""

from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from keras_transformer.cli.parser import CommandParser
from keras_transformer.config import PRESETS, TransformerConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.recipes import (
    FITTED,
    NO_OPTIONS,
    RECIPES,
    Recipe,
    classifier,
    denoising,
)
from keras_transformer.training.run.options import TrainOptions

# What learns the demo corpus within minutes: it is regular, so it needs little dropout, and its
# grammar knows a few thousand words, so more pieces only make it slower.
DEMO_TRAINING: dict[str, Any] = {
    "optimizer": "adam",
    "epochs": 8,
    "batch_tokens": 2048,
    "learning_rate": 0.003,
    "warmup_steps": 300,
    "average_checkpoints": 5,
    "r_drop": 0.0,
}
DEMO_MODEL = {"dropout": 0.1}
# Their defaults depend on the preset or the kind of data.
_RECIPE_FIELDS = [field.name for field in fields(Recipe) if field.name not in NO_OPTIONS]
# In place of numbers, where a translation's --init has several.
_FINE_TUNING: dict[str, Any] = {
    "epochs": 10,
    "warmup_steps": "200, 500 with general text, or 50 with a prepared corpus",
    "learning_rate": "half, all with general text, or a tenth with a prepared corpus",
    "rehearsal": "1 without general text",
}
# Fixed by the tokenizers, hence no flags of their own.
VOCAB_FIELDS = ("source_vocab_size", "target_vocab_size", "special_ids", "marks")
MODEL_FIELDS = {field.name for field in fields(TransformerConfig)} - set(VOCAB_FIELDS)


def add_recipe_flags(parser: CommandParser, skip: tuple[str, ...] = ()) -> None:
    """Adds a flag for every field of `TrainOptions` but those to skip."""
    parser.add_fields(
        TrainOptions,
        title="training",
        skip=skip,
        notes={name: f"default: {_defaults_text(name)}" for name in _RECIPE_FIELDS},
    )


def add_model_flags(parser: CommandParser) -> None:
    """Adds a flag for every field of a translation's model that its vocabularies do not fix."""
    parser.add_fields(
        TransformerConfig,
        title="model (default: the preset's values, for the demo dropout 0.1)",
        prefix="model.",
        skip=VOCAB_FIELDS,
        defaults=dict.fromkeys(MODEL_FIELDS),
    )


def model_overrides(given: Any) -> dict[str, Any]:
    """Returns the `--model.*` values that were given, keyed by config field."""
    return {name: value for name, value in vars(given).items() if value is not None}


def open_vocabularies(paths: list[Path]) -> tuple[Tokenizer, Tokenizer] | None:
    """Returns the tokenizers of source and target, one object twice if there is one file."""
    if len(paths) > 2:
        raise ValueError(
            f"--tokenizer takes one model for both languages, or two, got {len(paths)}: "
            f"{', '.join(map(str, paths))}."
        )
    opened = [Tokenizer.load(path) for path in paths]
    return (opened[0], opened[-1]) if opened else None


def _defaults_text(name: str) -> str:
    """Returns an option's defaults as text: "36 for small; 22 for tiny; 30 for base, big"."""
    users: dict[Any, list[str]] = {}
    for preset, recipe in RECIPES.items():
        users.setdefault(getattr(recipe, name), []).append(preset)
    if name in DEMO_TRAINING:
        users.setdefault(DEMO_TRAINING[name], []).append("the demo")
    for value, user in _defaults_of_tasks(name):
        users.setdefault(value, []).append(user)
    users.setdefault(_FINE_TUNING.get(name, getattr(Recipe, name)), []).append(
        "a translation's --init"
    )
    if len(users) == 1:
        return str(next(iter(users)))
    text = "; ".join(f"{value} for {', '.join(of)}" for value, of in users.items())
    return f"as the corpus suits, at most {text}" if name in FITTED[1:] else text


def _defaults_of_tasks(name: str) -> Iterator[tuple[Any, str]]:
    """Yields an option's defaults in the tasks that replace those of the presets, and their users.

    A task is named once if its value is one for all presets, else with each preset that has another
    value there.
    """
    encoders = EncoderConfig.presets
    tuned = partial(classifier, has_weights=True)
    for tasks, presets, recipe, replaced in (
        ("classify, tag, embed", encoders, classifier, RECIPES.__getitem__),
        ("denoising", PRESETS, denoising, RECIPES.__getitem__),
        ("classify, tag, embed with --init", encoders, tuned, classifier),
    ):
        values = {preset: getattr(recipe(preset), name) for preset in presets}
        own = {
            preset: value
            for preset, value in values.items()
            if value != getattr(replaced(preset), name)
        }
        if own and len(set(values.values())) == 1:
            yield next(iter(own.values())), tasks
        else:
            yield from ((value, f"{tasks} with {preset}") for preset, value in own.items())
