"""Low-rank adaptation in training: updates, options and whole runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from single_texts import write_run

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.texts import LabelledCorpus, LabelledTexts, TextCorpus, Texts
from keras_transformer.models.families import build_model
from keras_transformer.models.lora.adaptation import adapt_low_rank, without_low_rank
from keras_transformer.runs.checkpoints import list_checkpoints
from keras_transformer.runs.finished_run import load_run
from keras_transformer.training.loop.compiling import compile_transformer
from keras_transformer.training.run.options import TrainOptions, TrainPlan
from keras_transformer.training.run.train import train
from keras_transformer.training.texts.train import train_texts

pytestmark = pytest.mark.usefixtures("few_updates")

SMALL = {"model_dim": 8, "feed_forward_dim": 16, "num_heads": 2}
ENCODER = EncoderConfig.preset(
    "bert-tiny", vocab_size=20, head="classification", labels=("a", "b"), **SMALL
)
WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
LINES = [f"{a} {b}" for a in WORDS for b in WORDS]
TEXTS = TextCorpus(Texts(LINES, "texts"))
LABELS = ["early" if line < "b" else "late" for line in LINES]
LABELLED = LabelledCorpus(
    LabelledTexts(LABELS, LINES, None, "train"), LabelledTexts(LABELS[:9], LINES[:9], None, "valid")
)
OPTIONS = {"batch_tokens": 64, "max_length": 32, "learning_rate": 0.01, "warmup_steps": 2}


def weights(model: Any) -> dict[str, np.ndarray]:
    return {weight.path: np.array(weight) for weight in model.weights}


def inputs(model: Any) -> dict[str, np.ndarray]:
    ids = np.random.default_rng(0).integers(5, 20, (4, 6), np.int32)
    return {
        tensor.name: ids if tensor.name != "token_type_ids" else ids * 0 for tensor in model.inputs
    }


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"micro_batches": 2}, marks=pytest.mark.exhaustive),
        pytest.param({"recompute": True}, marks=pytest.mark.exhaustive),
    ],
)
def test_an_update_changes_the_factors_alone(options: dict[str, Any]) -> None:
    keras.utils.set_random_seed(0)
    model = build_model(ENCODER)
    settings = TrainPlan(warmup_steps=1, learning_rate=0.01, lora_rank=2, **options)
    training = compile_transformer(model, settings, 10)
    before = weights(model)
    labels, rows = np.asarray([[0], [1], [0], [1]], np.int32), np.ones((4, 1), np.float32)
    for _ in range(2):  # The first update changes B alone: its gradient of A has B = 0 as a factor.
        training.train_on_batch(inputs(model), labels, rows)
    after = weights(model)
    moved = {path for path in before if not np.array_equal(before[path], after[path])}
    assert moved == {path for path in before if "lora_kernel" in path}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"lora_rank": -1}, "lora_rank must be at least 0, got -1"),
        ({"lora_rank": 2, "freeze": "1"}, "lora_rank keeps .* so freeze has nothing to do"),
        ({"lora_rank": 2, "layer_decay": 0.8}, "lora_rank keeps .* so layer_decay has nothing"),
        ({"lora_rank": 2, "unfreeze_steps": 9}, "lora_rank keeps .* so unfreeze_steps has nothing"),
    ],
)
def test_wrong_options_are_named(values: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainOptions(**values)


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """A finished run of a masked language model."""
    return write_run(tmp_path_factory.mktemp("begun"), "masked-lm", LINES, **SMALL)


@pytest.fixture
def classify(begun: Path, tmp_path: Path) -> Callable[..., Any]:
    """`classify(name, ...)`: trains a classifier from the run into a directory of that name."""

    def run(name: str, resume: bool = False, **given: Any) -> Any:
        options = {**OPTIONS, "max_steps": 6, "checkpoint_steps": 2, "lora_rank": 2, **given}
        return train_texts(
            "classify",
            LABELLED,
            tmp_path / name,
            init=begun,
            options=TrainOptions(**options),
            resume=resume,
        ).model

    return run


def test_a_run_keeps_what_it_took_and_saves_a_plain_model(
    classify, begun: Path, tmp_path: Path, capsys
) -> None:
    model = classify("adapted", max_steps=2)
    assert "parameters are trained" in capsys.readouterr().out
    taken, found = weights(load_run(begun)[0]), weights(load_run(tmp_path / "adapted")[0])
    assert list(found) == list(weights(build_model(model.config)))
    for path, weight in weights(model).items():
        np.testing.assert_array_equal(found[path], weight)
    for path in set(taken) & set(found):
        is_adapted = path.startswith("encoder/") and path.endswith("/kernel")
        assert np.array_equal(found[path], taken[path]) != is_adapted, path


@pytest.mark.exhaustive
def test_a_resumed_run_is_the_unbroken_one(classify, tmp_path: Path) -> None:
    # With a cooldown, a run of two updates has other rates than the beginning of one of six.
    whole = classify("whole", cooldown=0.0)
    classify("broken", cooldown=0.0, max_steps=2)
    (tmp_path / "broken" / "model.keras").unlink()
    resumed = classify("broken", cooldown=0.0, resume=True)
    for path, weight in weights(whole).items():
        np.testing.assert_array_equal(weight, weights(resumed)[path])
    with pytest.raises(ValueError, match="started with lora_rank=2, not 4"):
        classify("broken", cooldown=0.0, resume=True, lora_rank=4)


@pytest.mark.exhaustive
def test_the_mean_is_that_of_merged_weights(classify, tmp_path: Path) -> None:
    model = classify("run", average_checkpoints=3)
    files = list_checkpoints(tmp_path / "run" / "checkpoints")
    assert len(files) == 3
    twin = build_model(model.config)
    adapt_low_rank(
        twin, 2, [path for path in weights(model) if path.startswith(("head", "pooler"))]
    )
    names = [f"model/{place:04d}/{weight.name}" for place, weight in enumerate(twin.variables)]
    states, merged = [], []
    for file in files:
        with np.load(file) as saved:
            for name, variable in zip(names, twin.variables, strict=True):
                variable.assign(saved[name])
        states.append(weights(twin))
        merged.append(weights(without_low_rank(twin)))
    for path, weight in weights(model).items():
        mean = np.mean([one[path] for one in merged], axis=0, dtype=np.float64)
        np.testing.assert_allclose(weight, mean, atol=1e-7)
    layer = "encoder/block_0/attention/value"
    means = {path: np.mean([one[path] for one in states], axis=0) for path in states[0]}
    other = (
        means[f"{layer}/kernel"] + means[f"{layer}/lora_kernel_a"] @ means[f"{layer}/lora_kernel_b"]
    )
    assert np.abs(weights(model)[f"{layer}/kernel"] - other).max() > 1e-5


@pytest.mark.parametrize("count", [1, 2])
def test_the_adapter_makes_the_finished_model_of_the_one_that_the_run_started_from(
    classify, begun: Path, tmp_path: Path, count: int
) -> None:
    model = classify("run", average_checkpoints=count, final_model="average", max_steps=4)
    other = build_model(model.config)
    taken = weights(load_run(begun)[0])
    for weight in other.weights:
        if weight.path in taken and weight.shape == taken[weight.path].shape:
            weight.assign(taken[weight.path])
    other.load_lora_weights(tmp_path / "run" / "adapter.lora.npz")
    for path, weight in weights(other.merge_lora()).items():
        np.testing.assert_allclose(weights(model)[path], weight, atol=1e-6, err_msg=path)


@pytest.mark.exhaustive
def test_the_best_checkpoint_is_merged(classify, tmp_path: Path) -> None:
    model = classify("best", final_model="best", max_steps=2)
    average = classify("average", average_checkpoints=1, max_steps=2)
    for path, weight in weights(average).items():
        np.testing.assert_array_equal(weight, weights(model)[path])


def test_without_weights_to_start_from_it_is_refused(tmp_path: Path) -> None:
    options = TrainOptions(lora_rank=2)
    with pytest.raises(ValueError, match="lora_rank adapts .* and there is none: give one"):
        train_texts("masked-lm", TEXTS, tmp_path / "texts", options=options)
    with pytest.raises(ValueError, match="lora_rank adapts .* and there is none: give one"):
        train(Corpus(Pairs(LINES, LINES, "pairs")), tmp_path / "pairs", options=options)


@pytest.mark.exhaustive
def test_a_translation_adapts_its_encoder_and_trains_its_new_decoder(
    begun: Path, tmp_path: Path
) -> None:
    options = TrainOptions(max_steps=2, lora_rank=2, bleu_sentences=0, **OPTIONS)
    corpus = Corpus(Pairs(LINES, LINES[::-1], "pairs"))
    overrides = {"num_decoder_layers": 1}
    model = train(corpus, tmp_path / "run", init=begun, overrides=overrides, options=options).model
    taken, found = weights(load_run(begun)[0]), weights(model)
    norm = "block_0/feed_forward_residual/layer_norm/gamma"
    np.testing.assert_array_equal(found[f"encoder/{norm}"], taken[f"encoder/{norm}"])
    assert np.all(found[f"decoder/{norm}"] != 1)
    kernel = "encoder/block_0/attention/query/kernel"
    assert np.any(found[kernel] != taken[kernel])
