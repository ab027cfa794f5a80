"""The recipes of training, by preset or by the config of a trained model, and by how much text
there is; `docs/recipe.md` has the reason of each.

A `Recipe` says what suits a corpus that is large enough. The functions below it make of that what
suits the corpus at hand: nothing of a plan is an absolute number.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from keras_transformer.config import TransformerConfig

# The rule of the vocabulary stands where texts are counted, and belongs to these.
from keras_transformer.text.vocabulary_size import MOST_PIECES, PieceRule, vocabulary_size

MOST_UPDATES_OF_A_ROUND = 1000
_FEWEST_BATCHES = 16


__all__ = [
    "FITTED",
    "MOST_PIECES",
    "NO_OPTIONS",
    "RECIPES",
    "Recipe",
    "averaged_checkpoints",
    "batch_tokens",
    "classifier",
    "denoising",
    "dropout",
    "epochs",
    "fine_tuning",
    "learning_rate",
    "nearest_preset",
    "piece_rule",
    "presets_of",
    "recipe_of",
    "round_steps",
    "unfreeze_steps",
    "vocabulary_size",
    "warmup_steps",
]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The training options of a preset; `TrainOptions` describes the fields.

    Args:
        least_updates: Updates that a run makes at least, in more epochs where they are short.
        most_epochs: Epochs at most that these updates take.
        fewest_tokens: Of a batch of a small corpus.
        most_warmup: The share of a run's updates that its warm-up takes at most.
        dropout: What a small trained model's is while it learns on, where `least_updates` decide
            the epochs, unless it is given; None for the config's.
        small_dropout: The same of a model from nothing.
        large_rate: The learning rate where `least_updates` do not decide; None for the same one.
    """

    epochs: int = 30
    least_updates: int = 1000
    most_epochs: int = 1000
    fewest_tokens: int = 256
    most_warmup: float = 0.25
    max_steps: int | None = None
    batch_tokens: int = 1024
    optimizer: Literal["adam", "muon"] = "adam"
    learning_rate: float = 0.004
    warmup_steps: int = 500
    cooldown: float = 0.5
    label_smoothing: float = 0.1
    r_drop: float = 0.0
    average_checkpoints: int = 5
    final_model: Literal["auto", "average", "best"] = "auto"
    rehearsal: float = 0.0
    dropout: float | None = None
    small_dropout: float | None = None
    large_rate: float | None = None

    def settings(self) -> dict[str, Any]:
        """Returns the options that do not depend on the corpus."""
        values = asdict(self)
        fitted = FITTED if self.large_rate is None else (*FITTED, "learning_rate")
        return {name: values[name] for name in values if name not in (*fitted, *NO_OPTIONS)}


# What a plan takes from the corpus, too, and not from the recipe alone.
FITTED = ("epochs", "least_updates", "batch_tokens", "warmup_steps", "average_checkpoints")

# What a recipe says of other things than the options of training.
NO_OPTIONS = (
    *("least_updates", "most_epochs", "fewest_tokens", "most_warmup"),
    *("dropout", "small_dropout", "large_rate"),
)

_SMALL = Recipe(optimizer="muon", epochs=36, max_steps=100_000, average_checkpoints=6, r_drop=5.0)
# The smallest model has less to overfit with.
_TINY = replace(_SMALL, epochs=22, average_checkpoints=4, r_drop=3.0)
# With Adam: Muon was not tried on what a teacher translates, nor on denoising.
_SMALL_STUDENTS = replace(_SMALL, optimizer="adam", average_checkpoints=10, epochs=64)
# Section 5.3, and Table 3's updates. A peak is model_dim^-0.5 · warmup_steps^-0.5.
_BASE = Recipe(
    batch_tokens=4096, warmup_steps=4000, cooldown=0.0, learning_rate=0.0007, max_steps=100_000
)
_BIG = replace(_BASE, learning_rate=0.0005, max_steps=300_000, average_checkpoints=20)
# Models of one stack on texts alone: no label smoothing, so that perplexities are comparable.
_SMALL_TEXTS = Recipe(batch_tokens=2048, learning_rate=0.002, label_smoothing=0.0)
# A decoder learns from every token, an encoder from 15 % of them.
_SMALL_DECODERS = replace(
    _SMALL_TEXTS,
    epochs=10,
    most_epochs=30,
    fewest_tokens=1024,
    most_warmup=0.15,
    small_dropout=0.3,
)
_LARGE_TEXTS = Recipe(
    epochs=40,
    batch_tokens=16_384,
    learning_rate=0.0002,
    warmup_steps=10_000,
    cooldown=1.0,
    label_smoothing=0.0,
)
# The recipe of each preset of a family.
RECIPES: dict[str, Recipe] = {
    "tiny": _TINY,
    "small": _SMALL,
    "base": _BASE,
    "big": _BIG,
    "student-tiny": _SMALL_STUDENTS,
    "student": _BASE,
    "bert-tiny": _SMALL_TEXTS,
    "bert-base": _LARGE_TEXTS,
    "bert-large": _LARGE_TEXTS,
    "xlnet-tiny": _SMALL_TEXTS,
    "gpt2-tiny": _SMALL_DECODERS,
    "gpt2": _LARGE_TEXTS,
    "gpt2-medium": _LARGE_TEXTS,
    "llama-tiny": _SMALL_DECODERS,
    "lstm-tiny": _SMALL_DECODERS,
    "transformer-xl-tiny": _SMALL_DECODERS,
}
# Tasks whose models read pieces and write none.
_READING = ("classify", "rerank", "tag", "embed")
_PIECES_READ = PieceRule(50)
# Of longer pieces a language model has fewer to guess for a word: one for each 57 characters of
# 300 captions, and for each 80 of 3,000.
_PIECES_CONTINUED = PieceRule(13, growth=0.85)
# Share of the loss that a teacher's distributions have; docs/results/pareto.md has what it brought.
WORD_LEVEL = 0.5
# A classifier (Devlin et al. 2018, A.3): few passes, smaller steps. The smaller the model, the
# larger the steps that it bears.
_CLASSIFIER: dict[str, Any] = {
    "epochs": 4,
    "least_updates": 300,
    # Of a few dozen texts a model learns no more from smaller batches, nor from more passes.
    "most_epochs": 20,
    "fewest_tokens": 512,
    "warmup_steps": 100,
    "cooldown": 0.9,
    # The last one: the validation loss rises where the accuracy still does.
    "average_checkpoints": 1,
    "final_model": "average",
}
_CLASSIFIER_FROM_NOTHING: dict[str, Any] = {
    "epochs": 10,
    "least_updates": 1000,
    "most_epochs": 100,
    "dropout": None,
    "large_rate": None,
}
_UNMEASURED: dict[str, Any] = {
    name: getattr(_SMALL_TEXTS, name)
    for name in ("dropout", "most_epochs", "fewest_tokens", "large_rate")
}
_CLASSIFIERS: dict[str, Recipe] = {
    "bert-tiny": replace(
        _SMALL_TEXTS,
        **_CLASSIFIER,
        learning_rate=0.001,
        large_rate=0.002,
        batch_tokens=1024,
        dropout=0.3,
    ),
    "bert-base": replace(_LARGE_TEXTS, **_CLASSIFIER, learning_rate=0.00003, batch_tokens=4096),
    "bert-large": replace(_LARGE_TEXTS, **_CLASSIFIER, learning_rate=0.00002, batch_tokens=4096),
}
_CLASSIFIERS["xlnet-tiny"] = _CLASSIFIERS["bert-tiny"]
# The widest model for which the rate of the small presets was measured, all of them pre-norm.
_SMALL_WIDTH = 256


def presets_of(task: str, family: Any) -> list[str]:
    """Returns the sizes that a task takes of its family; permutation-lm needs relative places."""
    needs = "relative_sinusoids" if task == "permutation-lm" else None
    return [name for name, fields in family.presets.items() if needs is None or needs in fields]


def nearest_preset(task: str, family: Any, begun: Any = None) -> str:
    """Returns the size whose recipe a run follows that names none.

    Args:
        task: What is trained.
        family: The class of its config.
        begun: The config of the run that it starts from, whose width decides; the family's
            smallest size if there is none, or of another family.
    """
    presets = presets_of(task, family)
    if not isinstance(begun, family):
        return presets[0]
    size = max(begun.special_ids.highest + 1, 100)

    def distance(name: str) -> int:
        return abs(family.preset(name, vocab_size=size).model_dim - begun.model_dim)

    return min(presets, key=distance)


def recipe_of(task: str, preset: str, *, has_weights: bool = False, adapts: bool = False) -> Recipe:
    """Returns the recipe of a task on single texts.

    Args:
        task: As `train_texts` takes it.
        preset: A size that the task's family has.
        has_weights: Whether it starts from a finished run.
        adapts: Whether only low-rank products learn.
    """
    if task == "denoising":
        return denoising(preset)
    if task in _READING:
        recipe = classifier(preset, has_weights=has_weights, adapts=adapts)
        # Of the others nobody measured these.
        return recipe if task == "classify" else replace(recipe, **_UNMEASURED)
    return RECIPES[preset]


def classifier(preset: str, *, has_weights: bool = False, adapts: bool = False) -> Recipe:
    """Returns the recipe of a classifier of a preset's size.

    Args:
        preset: The preset.
        has_weights: Whether it starts from a trained encoder, which little training suffices for.
        adapts: Whether only low-rank products learn, which bear five times the rate.
    """
    recipe = _CLASSIFIERS[preset]
    if not has_weights:
        recipe = replace(recipe, **_CLASSIFIER_FROM_NOTHING)
    if adapts:
        rate = 5 * recipe.learning_rate
        return replace(recipe, learning_rate=rate, large_rate=None, dropout=None)
    return recipe


def dropout(recipe: Recipe, begun: Any, tokens: int) -> float | None:
    """Returns what a model drops while it learns; None for its config's dropout.

    A wide one that has learnt from much text loses by more, and so does any on a large corpus.

    Args:
        recipe: That of the run.
        begun: The trained model's config; None of a model from nothing.
        tokens: Of the training texts. They are few if the usual epochs have too few updates.
    """
    if recipe.epochs * tokens / recipe.batch_tokens >= recipe.least_updates:
        return None
    if begun is not None:
        return recipe.dropout if begun.model_dim <= _SMALL_WIDTH else None
    return recipe.small_dropout


def learning_rate(recipe: Recipe, updates_per_epoch: int) -> float:
    """Returns the highest rate, which is larger where the usual epochs have enough updates."""
    is_large = recipe.epochs * updates_per_epoch >= recipe.least_updates
    return recipe.large_rate if is_large and recipe.large_rate else recipe.learning_rate


def denoising(preset: str) -> Recipe:
    """Returns a translation's recipe with Adam and without R-Drop, in fewer passes."""
    own = replace(RECIPES[preset], r_drop=0.0, epochs=20)
    is_small = preset in ("tiny", "small")
    return replace(own, optimizer="adam", average_checkpoints=10) if is_small else own


def fine_tuning(
    config: TransformerConfig, *, has_general: bool = False, is_text: bool = True
) -> Recipe:
    """Returns the recipe that trains a model further without destroying what it knows.

    Among general text the learning rate is that from scratch, so that a model learns what is far
    from its text, too: the small presets' for models as small, else the peak in section 5.3, which
    depends on the width. Without such text, among pairs that the model makes itself, it is half of
    that, and a tenth among neither.

    Args:
        config: The trained model's.
        has_general: Whether text as the model was trained on is mixed into the pairs.
        is_text: Whether the pairs are text, into which others can be mixed, and not prepared.
    """
    is_small = config.norm == "pre" and config.model_dim <= _SMALL_WIDTH
    peak = 0.004 if is_small else (config.model_dim * 4000) ** -0.5
    # docs/results/fine_tuning.md has what each is worth.
    rate, warmup_steps = peak / 10, 50
    if is_text:
        rate, warmup_steps = (peak, 500) if has_general else (peak / 2, 200)
    return Recipe(
        epochs=10,
        least_updates=0,
        warmup_steps=warmup_steps,
        # One digit: nobody measured a second one.
        learning_rate=float(f"{rate:.0e}"),
        rehearsal=float(is_text and not has_general),
    )


def batch_tokens(usual: int, batches: Callable[[int], int], fewest: int) -> int:
    """Returns the tokens of a batch: the usual number, halved until an epoch has 16 batches.

    Args:
        usual: What suits a large corpus.
        batches: Takes the tokens of a batch and returns the batches of an epoch; raises
            `ValueError` if a row is longer.
        fewest: What a small corpus has at least.
    """
    size = usual
    while size // 2 >= fewest and batches(size) < _FEWEST_BATCHES:
        try:
            batches(size // 2)
        except ValueError:
            break
        size //= 2
    return size


def epochs(usual: int, least_updates: int, updates_per_epoch: int, most: int) -> int:
    """Returns the passes over a corpus: the usual number, or as many as make the updates.

    They are no more than `most`, unless the usual number is.
    """
    return max(usual, min(most, math.ceil(least_updates / updates_per_epoch)))


def warmup_steps(usual: int, updates: int, most: float) -> int:
    """Returns the updates until the highest rate: the usual number, or at most a share of all."""
    return max(1, min(usual, int(updates * most)))


def round_steps(usual_epochs: int, updates_per_epoch: int, updates: int) -> int:
    """Returns the updates between two checkpoints: those of an epoch, 1,000 at most.

    More where epochs are so short that there would be more rounds than there usually are epochs.
    """
    shortest = math.ceil(updates / usual_epochs)
    return min(updates, MOST_UPDATES_OF_A_ROUND, max(shortest, updates_per_epoch))


def piece_rule(task: str) -> PieceRule:
    """Returns how many pieces suit the texts of a task.

    A model that only reads learns from pieces that are too rare to be written.
    """
    if task == "causal-lm":
        return _PIECES_CONTINUED
    return _PIECES_READ if task in _READING else PieceRule()


def averaged_checkpoints(usual: int, usual_epochs: int, rounds: int) -> int:
    """Returns how many of the newest checkpoints are averaged: the usual share of the run."""
    return max(1, min(usual, rounds * usual // usual_epochs))


def unfreeze_steps(unfreezings: int, updates: int) -> int:
    """Returns the updates between two blocks that are unfrozen: all learn in the last half.

    Args:
        unfreezings: How many times something begins to learn after the start.
        updates: Those of the run.
    """
    return updates // (2 * max(unfreezings, 1))
