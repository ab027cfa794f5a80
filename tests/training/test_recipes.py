"""Recipes: each preset has one, and the functions that fit them to a corpus stay possible."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keras_transformer.config import PRESETS, TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.text.vocabulary_size import PieceRule
from keras_transformer.training import recipes
from keras_transformer.training.recipes import RECIPES, Recipe

COUNTS = st.integers(1, 10**8)
# What all plans but those of classifiers have.
MOST = Recipe().most_epochs
USUAL = st.sampled_from([(one.epochs, one.average_checkpoints) for one in RECIPES.values()])


def test_every_preset_has_a_recipe() -> None:
    presets = [*PRESETS, *EncoderConfig.presets, *DecoderConfig.presets]
    assert list(RECIPES) == presets


@pytest.mark.parametrize("preset", ["base", "big"])
def test_the_papers_presets_rise_to_the_papers_peak(preset: str) -> None:
    recipe = RECIPES[preset]
    width = TransformerConfig.preset(preset, vocab_size=100).model_dim
    assert recipe.learning_rate == pytest.approx((width * recipe.warmup_steps) ** -0.5, rel=0.02)
    assert (recipe.warmup_steps, recipe.cooldown, recipe.r_drop) == (4000, 0, 0)


def test_small_corpora_are_trained_with_muon_and_r_drop() -> None:
    tiny, small = RECIPES["tiny"], RECIPES["small"]
    assert tiny.optimizer == small.optimizer == "muon"
    assert (tiny.r_drop, tiny.epochs, tiny.average_checkpoints) == (3, 22, 4)
    assert (small.r_drop, small.epochs, small.average_checkpoints) == (5, 36, 6)


@pytest.mark.parametrize(("preset", "averaged"), [("tiny", 10), ("base", 5), ("big", 20)])
def test_denoising_is_trained_with_adam(preset: str, averaged: int) -> None:
    recipe = recipes.denoising(preset)
    assert (recipe.optimizer, recipe.r_drop, recipe.epochs) == ("adam", 0, 20)
    assert recipe.average_checkpoints == averaged


@pytest.mark.parametrize(
    ("preset", "rate"), [("tiny", 0.0004), ("small", 0.0004), ("base", 0.00007), ("big", 0.00005)]
)
def test_fine_tuning_takes_as_much_of_the_presets_rate_as_what_is_mixed_in_bears(
    preset: str, rate: float
) -> None:
    config = TransformerConfig.preset(preset, vocab_size=100)
    recipe = recipes.fine_tuning(config, is_text=False)
    assert (recipe.learning_rate, recipe.warmup_steps, recipe.rehearsal) == (rate, 50, 0)
    assert rate == pytest.approx(RECIPES[preset].learning_rate / 10, rel=0.01)
    assert (recipe.epochs, recipe.r_drop, recipe.final_model) == (10, 0, "auto")
    alone = recipes.fine_tuning(config)
    assert alone.learning_rate == pytest.approx(5 * rate, rel=0.2)
    assert (alone.warmup_steps, alone.rehearsal) == (200, 1)
    mixed = recipes.fine_tuning(config, has_general=True)
    assert mixed.learning_rate == pytest.approx(10 * rate)
    assert (mixed.warmup_steps, mixed.rehearsal) == (500, 0)


def test_wide_models_that_are_pre_norm_are_fine_tuned_as_the_papers() -> None:
    config = TransformerConfig.preset("big", vocab_size=100, norm="pre")
    assert recipes.fine_tuning(config, is_text=False).learning_rate == 0.00005


def test_low_rank_products_of_a_classifier_learn_faster() -> None:
    whole, product = (recipes.classifier("bert-tiny", adapts=adapts) for adapts in (False, True))
    assert product.learning_rate == 5 * whole.learning_rate


def test_a_classifier_learns_longer_from_nothing_than_from_an_encoder() -> None:
    scratch, tuned = (
        recipes.recipe_of("classify", "bert-tiny", has_weights=known) for known in (False, True)
    )
    assert (scratch.epochs, scratch.least_updates) > (tuned.epochs, tuned.least_updates)


@pytest.mark.parametrize("task", ["classify", "tag", "embed"])
@pytest.mark.parametrize("adapts", [False, True])
@pytest.mark.parametrize("width", [None, 128, 384])
def test_a_small_encoder_drops_more_where_all_of_it_learns_few_labels(
    task: str, adapts: bool, width: int | None
) -> None:
    begun = width and EncoderConfig.preset("bert-tiny", vocab_size=50, model_dim=width)
    preset = recipes.nearest_preset("classify", EncoderConfig, begun)
    recipe = recipes.recipe_of(task, preset, has_weights=width is not None, adapts=adapts)
    drops = task == "classify" and width == 128 and not adapts
    assert recipes.dropout(recipe, begun, 1000) == (0.3 if drops else None)
    assert recipes.dropout(recipe, begun, 10**6) is None


def test_where_all_of_a_small_encoder_learns_many_labels_its_steps_are_larger() -> None:
    tuned, adapted, scratch = (
        recipes.classifier("bert-tiny", has_weights=begun, adapts=adapts)
        for begun, adapts in ((True, False), (True, True), (False, False))
    )
    assert [recipes.learning_rate(tuned, batches) for batches in (74, 75)] == [0.001, 0.002]
    assert [recipes.learning_rate(one, 10_000) for one in (adapted, scratch)] == [0.005, 0.001]
    assert "learning_rate" not in tuned.settings()


def test_the_nearest_size_of_a_family_has_the_recipe_of_a_trained_model() -> None:
    sizes = {64: "bert-tiny", 448: "bert-tiny", 512: "bert-base", 2048: "bert-large"}
    for width, preset in sizes.items():
        begun = EncoderConfig(vocab_size=50, model_dim=width, num_heads=4)
        assert recipes.nearest_preset("classify", EncoderConfig, begun) == preset
    assert recipes.nearest_preset("causal-lm", DecoderConfig, begun) == "gpt2-tiny"


def test_what_was_measured_on_labels_alone_is_of_classifiers_alone() -> None:
    labels, tags = (recipes.recipe_of(task, "bert-tiny") for task in ("classify", "tag"))
    assert (labels.most_epochs, labels.fewest_tokens) == (100, 512)
    assert (tags.most_epochs, tags.fewest_tokens) == (1000, 256)
    assert recipes.recipe_of("classify", "bert-tiny", has_weights=True).most_epochs == 20


def test_settings_are_what_does_not_depend_on_the_corpus() -> None:
    settings = Recipe(r_drop=2.0).settings()
    assert settings["r_drop"] == 2 and settings["final_model"] == "auto"
    assert not set(recipes.FITTED) & set(settings)


@given(COUNTS, st.integers(1, 20_000))
def test_a_vocabulary_has_a_piece_for_each_letter_and_no_more_than_a_corpus_can_teach(
    characters: int, letters: int
) -> None:
    size = recipes.vocabulary_size(characters, letters)
    assert size > letters
    assert size <= max(recipes.MOST_PIECES, letters + 300)
    assert size >= letters + min(letters // 3, 32)
    assert size <= recipes.vocabulary_size(characters + 1000, letters)
    assert size <= recipes.vocabulary_size(characters, letters, rule=PieceRule(50))


def test_what_only_reads_has_more_pieces_and_what_continues_texts_more_than_a_translation() -> None:
    tasks = ("classify", "causal-lm", "translation")
    read, continued, translated = (recipes.piece_rule(task).pieces(100_000) for task in tasks)
    assert read > continued > translated == 333


def test_a_decoder_from_nothing_drops_more_of_a_corpus_that_it_reads_often() -> None:
    recipe = recipes.recipe_of("causal-lm", "gpt2-tiny")
    few = recipe.least_updates * recipe.batch_tokens // recipe.epochs
    assert recipes.dropout(recipe, None, few - 1) == 0.3
    assert recipes.dropout(recipe, None, few) is None
    assert recipes.dropout(recipes.recipe_of("masked-lm", "bert-tiny"), None, few - 1) is None


@given(
    COUNTS,
    st.sampled_from([1024, 2048, 16_384]),
    st.integers(2, 1024),
    st.sampled_from([256, 512]),
)
@example(tokens=700, usual=2048, longest=30, fewest=256)
def test_a_batch_holds_every_row_and_is_halved_where_an_epoch_has_few(
    tokens: int, usual: int, longest: int, fewest: int
) -> None:
    def batches(size: int) -> int:
        if longest > size:
            raise ValueError("a row is longer")
        return -(-tokens // size)

    size = recipes.batch_tokens(usual, batches, fewest)
    assert fewest <= size <= usual
    assert batches(size) >= 16 or size < 2 * fewest or size // 2 < longest


@given(COUNTS, st.integers(1, 10**8), USUAL, st.integers(0, 2000))
def test_a_plan_is_possible_whatever_the_corpus(
    updates_per_epoch: int, most: int, usual: tuple[int, int], least: int
) -> None:
    epochs = recipes.epochs(usual[0], least, updates_per_epoch, max(least, 1))
    updates = min(most, epochs * updates_per_epoch)
    assert epochs >= usual[0] and epochs * updates_per_epoch >= least
    assert 1 <= recipes.warmup_steps(500, updates, 0.25) <= max(1, updates // 4)
    steps = recipes.round_steps(usual[0], updates_per_epoch, updates)
    assert 1 <= steps <= min(updates, recipes.MOST_UPDATES_OF_A_ROUND)
    rounds = -(-updates // steps)
    averaged = recipes.averaged_checkpoints(usual[1], usual[0], rounds)
    assert 1 <= averaged <= max(1, rounds * usual[1] // usual[0])


@given(COUNTS, USUAL, st.integers(0, 2000), st.integers(1, 300))
def test_updates_take_no_more_passes_than_are_allowed(
    updates_per_epoch: int, usual: tuple[int, int], least: int, most: int
) -> None:
    epochs = recipes.epochs(usual[0], least, updates_per_epoch, most)
    assert usual[0] <= epochs <= max(usual[0], most)
    assert epochs <= recipes.epochs(usual[0], least, updates_per_epoch, MOST)


@given(COUNTS, COUNTS, USUAL)
def test_more_updates_never_make_less_of_a_plan(one: int, other: int, usual: tuple) -> None:
    fewer, more = sorted((one, other))
    assert recipes.warmup_steps(500, fewer, 0.15) <= recipes.warmup_steps(500, more, 0.15)
    for epoch in (1, 75, 480, 10**6):
        assert recipes.round_steps(usual[0], epoch, fewer) <= recipes.round_steps(
            usual[0], epoch, more
        )
    assert recipes.averaged_checkpoints(*usual[::-1], fewer) <= recipes.averaged_checkpoints(
        *usual[::-1], more
    )
    assert recipes.epochs(usual[0], 1000, more, MOST) <= recipes.epochs(usual[0], 1000, fewer, MOST)


def test_multi30k_has_the_plan_that_was_measured_on_it() -> None:
    tiny = RECIPES["tiny"]
    updates = 480 * recipes.epochs(tiny.epochs, tiny.least_updates, 480, tiny.most_epochs)
    assert updates == 10_560
    assert recipes.warmup_steps(tiny.warmup_steps, updates, tiny.most_warmup) == 500
    assert recipes.round_steps(tiny.epochs, 480, updates) == 480
    assert recipes.averaged_checkpoints(tiny.average_checkpoints, tiny.epochs, 22) == 4
    assert recipes.vocabulary_size(3_600_000, 90) == 8000


@given(st.integers(1, 100), COUNTS)
def test_all_weights_learn_in_the_last_half(unfreezings: int, updates: int) -> None:
    steps = recipes.unfreeze_steps(unfreezings, updates)
    assert 0 <= unfreezings * steps <= updates // 2
