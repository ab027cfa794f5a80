"""The options of training, apart from the model's config."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, Self, get_args

from keras_transformer.config.checks import (
    check_choice,
    check_flag,
    check_number,
    check_share,
    check_size,
)
from keras_transformer.data.encoding.id_pairs import check_max_length
from keras_transformer.markup.profiles import PROFILES, Profile, pattern_of
from keras_transformer.noise.pairs import MERGED, check_shares, read_shares
from keras_transformer.runs.history import CRITERIA, LOSS, Criterion
from keras_transformer.suggestions import did_you_mean
from keras_transformer.text.training_text import TrainingText
from keras_transformer.training.recipes import MOST_UPDATES_OF_A_ROUND, RECIPES, Recipe

_CHOICES = {
    "optimizer": ("adam", "muon"),
    "final_model": ("auto", "average", "best"),
    "early_stopping": tuple(CRITERIA),
    # Not mixed_float16: its loss scaling skips updates, so steps and batches would diverge.
    "dtype_policy": ("float32", "mixed_bfloat16"),
    "strategy": ("mirrored", "multi-worker"),
    "markup": PROFILES,
}
DEFAULT_PATIENCE = 5
# The counts that may be 0; the others are at least 1.
_MAY_BE_ZERO = ("bleu_sentences", "unfreeze_steps", "lora_rank", "seed")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Settings of a training run.

    The recipe of the model's preset and, where it says so, the size of the corpus decide the values
    that are None (`docs/recipe.md`). A resumed run keeps the settings it was started with.

    Args:
        epochs: Passes over the training pairs. None: the recipe's, and more on a small corpus.
        max_steps: Most updates, whatever `epochs` says.
        batch_tokens: Most padded tokens of one side in a batch. None: the recipe's, and fewer on a
            small corpus.
        optimizer: "adam", or "muon" (Jordan et al. 2024), which updates the matrices of the blocks
            by their momentum with all singular values near 1, and everything else as Adam does.
        learning_rate: Peak of the warm-up schedule.
        warmup_steps: Updates until the peak. None: the recipe's, a quarter of all at most.
        cooldown: Share of all updates, at the end, over which the learning rate falls to 0, in
            [0, 1].
        subword_sampling: Draw the segmentation of training sentences anew in every epoch
            (`docs/recipe.md`); not with a prepared corpus, which holds ids.
        markup: Profile of the spans (tags, placeholders and the like) that translations keep
            (`docs/markup.md`): slots stand for those that both texts of a pair have. "plain" learns
            texts as they are. None: the profile of the run to start from or of the teacher, if
            there is one, else "plain".
        span_pattern: Regular expressions of further spans.
        noise: Shares of training pairs that get noise (`docs/robustness.md`), such as
            `capitals=0.05`, drawn from `seed`: of merged, punctuation, accents, typos, title,
            capitals, numbers, names, emoji and breaks; "default" for those with which browsers'
            translators are trained.
        soft_terms: Share of training pairs, drawn from `seed`, whose sources have translations
            beside some of their terms (`docs/terms.md`), so that the model learns to inflect the
            terms of a list; the terms are extracted from the pairs themselves. None: the share of
            the run to start from or of the teacher, if there is one, else 0.
        label_smoothing: Probability spread evenly over the vocabulary.
        r_drop: Strength α of R-Drop: every batch passes through the model twice, with different
            dropout, and the loss pulls both outputs together (`docs/recipe.md`); 0 for none.
        beta_2: Adam's decay of squared gradients.
        epsilon: Adam's ε.
        clip_norm: Largest global norm of the gradients; None for no clipping.
        average_checkpoints: How many of the newest checkpoints to keep and, at the end, average.
            None: the recipe's, and fewer in a run of few rounds.
        final_model: The model to save at the end: the "average" of the newest checkpoints, the
            "best" checkpoint by validation loss (or `early_stopping`), which is always kept, or
            with "auto" the better of the two.
        patience: Rounds (from checkpoint to checkpoint) without a better validation loss (or
            measure of `early_stopping`) after which training ends. None: all updates are made, or 5
            with `early_stopping`.
        early_stopping: Measure by which training ends when it no longer improves: "loss" of
            validation, or "bleu" or "chrf" of the validation translations (`bleu_sentences`). It
            also decides which checkpoint is the best, for `final_model`. None: the validation loss,
            and training ends early only with `patience`.
        checkpoint_steps: Updates between checkpoints and validations. None: an epoch, at most
            1,000, and more if epochs are short.
        bleu_sentences: Validation sentences translated after every round, by greedy search, for
            the BLEU and the samples that TensorBoard shows; 0 for none.
        max_length: Longest sentence in tokens; longer pairs are left out.
        dtype_policy: Keras dtype policy, "float32" or "mixed_bfloat16".
        jit_compile: Whether to compile the step with XLA.
        freeze: Parts that keep their weights: "embeddings"; "encoder", with its embeddings; or a
            number N of blocks, with the embeddings below them; None to train all.
        layer_decay: Factor of the learning rate from each block to the one below, in (0, 1]:
            lower layers, which are more general, then change less; 1 for one rate.
        unfreeze_steps: Updates after which the next lower block begins to learn (gradual
            unfreezing): only the highest block and what is above it or new learn at the start, the
            embeddings are last; 0 to train all from the start.
        lora_rank: Rank of low-rank adaptation (`docs/fine_tuning.md`): the weights to start from
            stay, and training changes only new weights and a product of two matrices of this rank
            beside each linear map of the blocks; 0 to train the weights themselves.
        rehearsal: Number of pairs, for each training pair, that the translator to start from makes
            itself and learns, too, so that it keeps what it knows (`docs/fine_tuning.md`); 0 for
            none.
        micro_batches: Number of parts to split a batch into, processed one after the other:
            gradients are accumulated, so a step needs the memory of one part only, and the update
            is that of the whole batch.
        recompute: Keep less of the forward pass and compute it again for the gradients: less
            memory for about a third more time.
        seed: Seed of the initial weights, dropout and the order of the data.
        strategy: Train on several devices: "mirrored" for all of this machine, "multi-worker" for
            the workers that TF_CONFIG names; None for one device. Each batch is shared among them.
        deterministic: Make two runs on the same machine equal to the last bit.

    Raises:
        ValueError: A value is out of range; the message names it.
        TypeError: A count is not an integer or a rate is not a number.
    """

    epochs: int | None = None
    max_steps: int | None = None
    batch_tokens: int | None = None
    optimizer: Literal["adam", "muon"] | None = None
    learning_rate: float | None = None
    warmup_steps: int | None = None
    cooldown: float | None = None
    subword_sampling: bool = False
    markup: Profile | None = None
    span_pattern: tuple[str, ...] = ()
    noise: tuple[str, ...] = ()
    soft_terms: float | None = None
    label_smoothing: float | None = None
    r_drop: float | None = None
    beta_2: float = 0.98
    epsilon: float = 1e-9
    clip_norm: float | None = 1.0
    average_checkpoints: int | None = None
    final_model: Literal["auto", "average", "best"] | None = None
    patience: int | None = None
    early_stopping: Literal["loss", "bleu", "chrf"] | None = None
    checkpoint_steps: int | None = None
    bleu_sentences: int = 200
    max_length: int = 256
    dtype_policy: str = "float32"
    jit_compile: bool = False
    freeze: str | None = None
    layer_decay: float = 1.0
    unfreeze_steps: int = 0
    lora_rank: int = 0
    rehearsal: float | None = None
    micro_batches: int = 1
    recompute: bool = False
    seed: int = 0
    strategy: Literal["mirrored", "multi-worker"] | None = None
    deterministic: bool = False

    def __post_init__(self) -> None:
        self._check_types()
        for name in ("learning_rate", "epsilon", "clip_norm"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be positive, got {value}.")
        check_max_length(self.max_length)
        if self.span_pattern and not self.has_slots:
            raise ValueError("span_pattern is of spans beside those of a profile: give markup.")
        if self.markup is not None:
            pattern_of(self.markup, self.span_pattern)
        if self.freeze not in (None, "embeddings", "encoder") and not self.freeze.isdecimal():
            hint = did_you_mean(self.freeze, ("embeddings", "encoder")) or "."
            raise ValueError(
                "freeze must be 'embeddings', 'encoder' or a number of blocks, got "
                f"{self.freeze!r}{hint}"
            )
        if not 0 < self.layer_decay <= 1:
            raise ValueError(f"layer_decay must lie in (0, 1], got {self.layer_decay}.")
        for other in ("freeze", "layer_decay", "unfreeze_steps"):
            if self.lora_rank and getattr(self, other) != getattr(TrainOptions, other):
                raise ValueError(
                    f"lora_rank keeps all weights that are not new, so {other} has nothing to do: "
                    "leave one of them out."
                )
        if self.criterion is not CRITERIA[LOSS] and not self.bleu_sentences:
            raise ValueError(
                f"early_stopping={self.early_stopping!r} goes by translations, and "
                "bleu_sentences=0 leaves them out: raise it, or leave early_stopping out."
            )
        if self.cooldown is not None and not 0 <= self.cooldown <= 1:
            raise ValueError(f"cooldown is a share in [0, 1], got {self.cooldown}.")
        if self.soft_terms is not None:
            check_share("soft_terms", self.soft_terms)
        for name in ("beta_2", "label_smoothing"):
            if not 0 <= (getattr(self, name) or 0) < 1:
                raise ValueError(f"{name} must lie in [0, 1), got {getattr(self, name)}.")
        for name in ("r_drop", "rehearsal"):
            if not 0 <= (getattr(self, name) or 0) < math.inf:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}.")
        if self.strategy and self.jit_compile:
            raise ValueError(
                f"jit_compile does not work with strategy {self.strategy!r}: XLA cannot compile "
                "what replicas exchange. Leave one of them out."
            )

    def _check_types(self) -> None:
        """Raises unless each field is the choice, flag, count, number or string that it must be."""
        for field in dataclasses.fields(self):
            name, value, kind = field.name, getattr(self, field.name), str(field.type)
            if value is None and type(None) in get_args(field.type):
                continue
            if name in _CHOICES:
                check_choice(name, value, _CHOICES[name])
            elif name == "span_pattern":
                object.__setattr__(self, name, tuple(value))
            elif name == "noise":
                object.__setattr__(self, name, check_shares(value))
            elif "bool" in kind:
                check_flag(name, value)
            elif "int" in kind:
                check_size(name, value, least=0 if name in _MAY_BE_ZERO else 1)
            elif "float" in kind:
                check_number(name, value)
            elif not isinstance(value, str):
                raise TypeError(f"{name} must be a string, got {value!r}.")

    def check_validation(self, *, has_valid: bool) -> None:
        """Raises `ValueError` if an option needs validation pairs and there are none."""
        if has_valid:
            return
        for option, is_given in {
            "patience": self.patience is not None,
            f"early_stopping={self.early_stopping!r}": self.early_stopping is not None,
            "final_model='best'": self.final_model == "best",
        }.items():
            if is_given:
                raise ValueError(
                    f"{option} chooses by the {self.criterion.noun}, but there are no validation "
                    "pairs: give some, or leave the option out."
                )

    def with_spans_of(self, seen: TrainingText | None) -> "TrainOptions":
        """Returns these, or, where no profile is named and no share of soft terms, those of a
        trained model.

        Args:
            seen: What the model's training lines looked like; None if unknown.
        """
        kept: dict[str, Any] = {}
        if seen is not None and self.markup is None and seen.markup is not None:
            kept = {"markup": seen.markup, "span_pattern": seen.span_patterns}
        if seen is not None and self.soft_terms is None and seen.soft_terms:
            kept["soft_terms"] = seen.soft_terms
        return dataclasses.replace(self, **kept)

    def check_translations(self, task: str) -> None:
        """Raises `ValueError` if an option needs translations, and a task translates nothing."""
        if self.bleu_sentences not in (0, TrainOptions.bleu_sentences):
            raise ValueError(
                f"bleu_sentences={self.bleu_sentences} are translated, and {task} translates "
                "nothing: leave it out."
            )
        if self.markup is not None:
            raise ValueError(
                f"markup={self.markup!r} is of spans that translations keep, and {task} translates "
                "nothing: leave it out."
            )
        if self.soft_terms:
            raise ValueError(
                f"soft_terms={self.soft_terms} are translations of terms, and {task} translates "
                "nothing: leave it out."
            )
        if self.noise and task != "classify":
            raise ValueError(
                f"noise={' '.join(self.noise)} is put into texts to translate and to classify, not "
                f"into those of {task}: leave it out."
            )
        if MERGED in read_shares(self.noise):
            raise ValueError(
                f"noise={' '.join(self.noise)} merges texts, and those to {task} have a label "
                f"each: leave {MERGED} out."
            )
        if self.criterion is not CRITERIA[LOSS]:
            raise ValueError(
                f"early_stopping={self.early_stopping!r} goes by translations, and {task} "
                "translates nothing: give early_stopping='loss', or leave it out."
            )

    @property
    def has_slots(self) -> bool:
        """Whether slots stand for spans of the training text."""
        return self.markup not in (None, "plain")

    @property
    def criterion(self) -> Criterion:
        """By what rounds are compared."""
        return CRITERIA[self.early_stopping or LOSS]

    def check_start(self, *, has_weights: bool, can_rehearse: bool = False) -> None:
        """Raises `ValueError` if an option needs trained weights to start from, without any.

        Args:
            has_weights: Whether there are some.
            can_rehearse: Whether they are of a whole translation that is trained on text.
        """
        for name, what in {
            "lora_rank": "adapts the weights of a finished run",
            "unfreeze_steps": "lets the weights of a finished run learn one block after the other",
        }.items():
            if getattr(self, name) and not has_weights:
                raise ValueError(
                    f"{name} {what}, and there is none: give one with init (--init), or leave "
                    f"{name} out."
                )
        if self.rehearsal and not can_rehearse:
            raise ValueError(
                f"rehearsal={self.rehearsal} mixes into text what a translation's run makes of "
                "random pieces: give such a run with init (--init) and pairs that are not "
                "prepared, or set rehearsal to 0."
            )

    def check_own_loss(self, owner: str, *, of_rows: bool = False) -> None:
        """Raises `ValueError` if an option is for the cross-entropy of tokens and classes alone.

        Args:
            owner: What is learnt with another loss, for the message.
            of_rows: Whether each row has a loss of its own, which parts of a batch can sum.
        """
        in_parts = () if of_rows else ("micro_batches", "strategy")
        for name in ("label_smoothing", "r_drop", *in_parts):
            value, needed = getattr(self, name), {"micro_batches": 1, "strategy": None}.get(name, 0)
            if value is not None and value != needed:
                raise ValueError(f"{name}={value!r} is not for {owner}: leave it at {needed}.")

    def check_memory(self) -> None:
        """Raises `ValueError` if an option does not go with a stream that a model remembers."""
        for name, needed in {"r_drop": 0, "micro_batches": 1, "strategy": None}.items():
            value = getattr(self, name)
            if value is not None and value != needed:
                raise ValueError(
                    f"{name}={value!r} does not go with a memory of packing='stream', in which "
                    f"each row of a batch goes on from the one before: leave it at {needed}, or "
                    "take packing='documents'."
                )

    def check_word_level(self) -> None:
        """Raises `ValueError` if an option does not go with a teacher's distributions."""
        for name in ("r_drop", "strategy"):
            if getattr(self, name):
                raise ValueError(
                    f"{name}={getattr(self, name)!r} does not go with word_level: leave one of "
                    "them out."
                )

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> Self:
        """Returns them with all that a preset's recipe decides without knowing the corpus.

        Args:
            name: The preset's name, of any family.
            **overrides: Any field, replacing the recipe's value.
        """
        check_choice("preset", name, RECIPES)
        return cls(**overrides).filled(RECIPES[name].settings())

    def filled(self, values: Mapping[str, Any]) -> Self:
        """Returns them with other values for what is None.

        Args:
            values: By field; those of other names are left out.
        """
        names = [field.name for field in dataclasses.fields(self)]
        is_open = [name for name in names if getattr(self, name) is None and name in values]
        return dataclasses.replace(self, **{name: values[name] for name in is_open})

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainPlan(TrainOptions):
    """The settings of a run, with nothing but `max_steps` left open; `make_plan` makes it."""

    epochs: int = Recipe.epochs
    batch_tokens: int = Recipe.batch_tokens
    optimizer: Literal["adam", "muon"] = Recipe.optimizer
    learning_rate: float = Recipe.learning_rate
    warmup_steps: int = Recipe.warmup_steps
    cooldown: float = Recipe.cooldown
    label_smoothing: float = Recipe.label_smoothing
    r_drop: float = Recipe.r_drop
    average_checkpoints: int = Recipe.average_checkpoints
    final_model: Literal["auto", "average", "best"] = Recipe.final_model
    checkpoint_steps: int = MOST_UPDATES_OF_A_ROUND
    rehearsal: float = Recipe.rehearsal
