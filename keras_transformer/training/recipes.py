"""The recipes of training: takes a preset, or a trained model's config, and has the options that
differ from their defaults; `docs/recipe.md` has the reasons.
"""

from typing import Any

from keras_transformer.config import TransformerConfig

_SMALL_CORPORA = {
    "optimizer": "muon",
    "epochs": 36,
    "max_steps": 100_000,
    "average_checkpoints": 6,
    "r_drop": 5.0,
}
# The smallest model has less to overfit with.
_TINY = {**_SMALL_CORPORA, "epochs": 22, "average_checkpoints": 4, "r_drop": 3.0}
# With Adam: Muon was not tried on what a teacher translates, nor on denoising.
_ADAM = {"optimizer": "adam", "average_checkpoints": 10}
_SMALL_STUDENTS = {**_SMALL_CORPORA, **_ADAM, "epochs": 64}
# Section 5.3, and Table 3's updates. A peak is model_dim^-0.5 · warmup_steps^-0.5.
_LARGE_CORPORA = {"batch_tokens": 4096, "warmup_steps": 4000, "cooldown": 0.0}
# Models of one stack on texts alone: no label smoothing, so that perplexities are comparable.
_SMALL_TEXTS = {
    "epochs": 30,
    "batch_tokens": 2048,
    "learning_rate": 0.002,
    "warmup_steps": 500,
    "label_smoothing": 0.0,
}
# A decoder learns from every token, an encoder from 15 % of them.
_SMALL_DECODERS = {**_SMALL_TEXTS, "epochs": 10}
_LARGE_TEXTS = {
    "epochs": 40,
    "batch_tokens": 16_384,
    "learning_rate": 0.0002,
    "warmup_steps": 10_000,
    "cooldown": 1.0,
    "label_smoothing": 0.0,
}
# The recipe of each preset of a family.
RECIPES: dict[str, dict[str, Any]] = {
    "tiny": _TINY,
    "small": _SMALL_CORPORA,
    "base": {**_LARGE_CORPORA, "learning_rate": 0.0007, "max_steps": 100_000},
    "big": {
        **_LARGE_CORPORA,
        "learning_rate": 0.0005,
        "max_steps": 300_000,
        "average_checkpoints": 20,
    },
    "student-tiny": _SMALL_STUDENTS,
    "student": {**_LARGE_CORPORA, "learning_rate": 0.0007, "max_steps": 100_000},
    "bert-tiny": _SMALL_TEXTS,
    "bert-base": _LARGE_TEXTS,
    "bert-large": _LARGE_TEXTS,
    "gpt2-tiny": _SMALL_DECODERS,
    "gpt2": _LARGE_TEXTS,
    "gpt2-medium": _LARGE_TEXTS,
    "llama-tiny": _SMALL_DECODERS,
}
# What replaces a preset's recipe where hidden spans are restored.
DENOISING: dict[str, dict[str, Any]] = {"tiny": _ADAM, "small": _ADAM}
# Share of the loss that a teacher's distributions have; docs/results/pareto.md has what it brought.
WORD_LEVEL = 0.5
# What replaces a preset's recipe where a classifier is trained (Devlin et al. 2018, A.3): few
# passes, smaller steps. The smaller the model, the larger the steps that it bears.
_CLASSIFIER = {"epochs": 4, "warmup_steps": 100, "average_checkpoints": 1, "cooldown": 0.9}
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "bert-tiny": {**_CLASSIFIER, "learning_rate": 0.0005},
    "bert-base": {**_CLASSIFIER, "learning_rate": 0.00003, "batch_tokens": 4096},
    "bert-large": {**_CLASSIFIER, "learning_rate": 0.00002, "batch_tokens": 4096},
}

# Training a translation's model further, on less text: few passes, small steps. Words stand for
# what depends on the model and the data.
FINE_TUNING: dict[str, Any] = {
    "epochs": 10,
    "warmup_steps": "200, 500 with general text, or 50 with a prepared corpus",
    "r_drop": 0.0,
    "learning_rate": "half, all with general text, or a tenth with a prepared corpus",
    "rehearsal": "1 without general text",
    "final_model": "best if there are validation pairs",
}
# The widest model for which the rate of the small presets was measured, all of them pre-norm.
_SMALL_WIDTH = 256


def fine_tuning(
    config: TransformerConfig,
    *,
    has_valid: bool,
    has_general: bool = False,
    is_text: bool = True,
) -> dict[str, Any]:
    """Returns the options that train a model further without destroying what it knows.

    Among general text the learning rate is that from scratch, so that a model learns what is far
    from its text, too: the small presets' for models as small, else the peak in section 5.3, which
    depends on the width. Without such text, among pairs that the model makes itself, it is half of
    that, and a tenth among neither.

    Args:
        config: The trained model's.
        has_valid: Whether there are validation pairs, by which the best checkpoint is chosen.
        has_general: Whether text as the model was trained on is mixed into the pairs.
        is_text: Whether the pairs are text, into which others can be mixed, and not prepared.
    """
    is_small = config.norm == "pre" and config.model_dim <= _SMALL_WIDTH
    peak = 0.004 if is_small else (config.model_dim * 4000) ** -0.5
    # docs/results/fine_tuning.md has what each is worth.
    rate, warmup_steps = peak / 10, 50
    if is_text:
        rate, warmup_steps = (peak, 500) if has_general else (peak / 2, 200)
    return {
        **FINE_TUNING,
        "warmup_steps": warmup_steps,
        # One digit: nobody measured a second one.
        "learning_rate": float(f"{rate:.0e}"),
        "rehearsal": float(is_text and not has_general),
        "final_model": "best" if has_valid else "average",
    }
