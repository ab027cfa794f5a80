"""What holds for models of every family: counts, padding, batches, gradients, precision, files,
plain Keras training, use inside a larger model.
"""

import json
import subprocess
import sys
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from few_updates import without_graphs
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.covering import some

PAIRS = [([2, 5, 9, 6, 3], [2, 7, 4, 11]), ([2, 17, 3], [2, 18]), ([8, 3], [2, 3, 5])]
sentences = st.lists(st.integers(4, 18), min_size=1, max_size=6)


def test_the_parameter_count_is_the_models(family, random_of) -> None:
    assert family.config.parameter_count == random_of(family).count_params()


def test_inputs_are_named_integers_of_any_length(family, random_of) -> None:
    model = random_of(family)
    assert isinstance(model, keras.Model)
    assert set(model.input) == set(family.inputs(PAIRS))
    for tensor in model.input.values():
        assert (tuple(tensor.shape), tensor.dtype) == ((None, None), "int32")


@settings(max_examples=2)
@given(first=sentences, second=sentences, pads=st.tuples(*[st.integers(0, 4)] * 4))
def test_padding_changes_nothing(traced_family, random_of, outputs_of, first, second, pads) -> None:
    """On the left, on the right, on both, or more of it, on either side of the model."""
    family = traced_family
    model, before = random_of(family), pads[2]
    plain = outputs_of(model, family.inputs([(first, second)]))
    padded = outputs_of(model, family.inputs([(first, second)], pads))
    length = len(family.text((first, second)))
    for name, values in padded.items():
        found = values[:, before : before + length] if values.ndim == 3 else values
        np.testing.assert_allclose(found, plain[name], atol=1e-4)


@settings(max_examples=4)
@given(rows=st.lists(st.tuples(sentences, sentences), min_size=2, max_size=4))
def test_a_batch_equals_its_rows(traced_family, random_of, outputs_of, rows) -> None:
    family = traced_family
    model = random_of(family)
    together = outputs_of(model, family.inputs(rows))
    for place, row in enumerate(rows):
        for name, alone in outputs_of(model, family.inputs([row])).items():
            found = together[name][place]
            if alone.ndim == 3:
                found = found[: len(family.text(row))]
            # Gates and norms without a mean multiply what sums in another order differ by.
            np.testing.assert_allclose(found, alone[0], atol=1e-4)


@settings(max_examples=5)
@given(data=st.data(), source=sentences, target=sentences)
def test_a_changed_future_token_changes_no_earlier_output(
    causal_family, random_of, outputs_of, data, source, target
) -> None:
    family = causal_family
    model, place = random_of(family), data.draw(st.integers(0, len(target) - 1))
    changed = [*target[:place], target[place] % 15 + 4, *target[place + 1 :]]
    before, after = (
        outputs_of(model, family.inputs([(source, ids)]))["outputs"][0] for ids in (target, changed)
    )
    np.testing.assert_array_equal(after[:place], before[:place])
    assert not np.allclose(after[place], before[place])


def test_every_weight_gets_a_gradient(family, random_of) -> None:
    model, generator = random_of(family), np.random.default_rng(0)
    with tf.GradientTape() as tape:
        outputs = tf.nest.flatten(model(family.inputs(PAIRS), training=True))
        loss = sum(
            tf.reduce_sum(output * generator.standard_normal(output.shape)) for output in outputs
        )
    # A chain makes tags of the logits, and has no part in them.
    weights = [one for one in model.trainable_weights if "/chain/" not in one.path]
    gradients = tape.gradient(loss, [weight.value for weight in weights])
    for weight, gradient in zip(weights, gradients, strict=True):
        values = np.asarray(tf.convert_to_tensor(gradient))
        assert np.isfinite(values).all(), weight.path
        # A bias of keys moves all scores of a query alike, which the softmax takes out again.
        assert values.any() or weight.path.endswith("key/bias"), weight.path


@pytest.mark.parametrize("place", some(range(3), 2))
def test_recomputed_activations_give_the_same_gradients(
    place: int, few_families, random_of
) -> None:
    family = few_families[place]
    model = random_of(family)

    def gradients() -> list[np.ndarray]:
        for state in model.non_trainable_variables:  # The seeds of dropout.
            state.assign(tf.zeros_like(state.value))

        @tf.function(autograph=False)
        def run(inputs: dict[str, tf.Tensor]) -> list[tf.Tensor]:
            with tf.GradientTape() as tape:
                outputs = tf.nest.flatten(model(inputs, training=True))
                loss = sum(tf.reduce_sum(output**2) for output in outputs)
            return tape.gradient(loss, [weight.value for weight in model.trainable_weights])

        return [np.asarray(tf.convert_to_tensor(g)) for g in run(family.inputs(PAIRS))]

    plain = gradients()
    model.recompute_activations()
    try:
        recomputed = gradients()
    finally:
        model.recompute_activations(False)
    for mine, theirs in zip(recomputed, plain, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-3 * np.abs(theirs).max() + 1e-5)


@pytest.mark.parametrize(
    ("place", "policy"),
    [
        pytest.param(
            place,
            policy,
            marks=() if (place, policy) == (0, "mixed_bfloat16") else pytest.mark.exhaustive,
        )
        for place in range(6)
        for policy in ("mixed_bfloat16", "mixed_float16")
    ],
)
def test_mixed_precision_is_close_and_kept_by_the_file(
    place: int, policy: str, few_families, tmp_path, random_of, outputs_of
) -> None:
    family = few_families[place]
    model, inputs = random_of(family), family.inputs(PAIRS)
    low = family.build(policy)
    low.set_weights(model.get_weights())
    found = outputs_of(low, inputs)
    real = np.arange(max(len(family.text(row)) for row in PAIRS)) < np.array(
        [[len(family.text(row))] for row in PAIRS]
    )
    for name, exact in outputs_of(model, inputs).items():
        values = found[name]
        assert keras.backend.standardize_dtype(values.dtype) == policy.removeprefix("mixed_")
        difference = np.abs(values.astype("float32") - exact)
        if exact.ndim == 3:
            difference = difference[real]
        assert difference.mean() < 0.05 * np.abs(exact).mean()
    low.save(tmp_path / "model.keras")
    twin = keras.saving.load_model(tmp_path / "model.keras")
    assert keras.config.dtype_policy().name == "float32"
    for name, values in outputs_of(twin, inputs).items():
        np.testing.assert_array_equal(values.view(np.uint16), found[name].view(np.uint16))


def test_config_round_trip(one_of_few, random_of) -> None:
    family = one_of_few
    model, inputs = random_of(family), family.inputs(PAIRS)
    # As a file holds it: tuples become lists.
    twin = type(model).from_config(json.loads(json.dumps(model.get_config())))
    assert twin.config == model.config
    assert twin.name == model.name
    twin.set_weights(model.get_weights())
    for ours, theirs in zip(*map(tf.nest.flatten, (twin(inputs), model(inputs))), strict=True):
        np.testing.assert_array_equal(ours, theirs)


RELOAD = """
import sys
from pathlib import Path
import keras_transformer
import keras, numpy as np
for path in sorted(Path(sys.argv[1]).glob("*.keras")):
    model = keras.saving.load_model(path)
    outputs = model(dict(np.load(path.with_suffix(".npz"))))
    outputs = outputs if isinstance(outputs, dict) else {"outputs": outputs}
    np.savez(path.with_suffix(".found.npz"), **outputs)
"""


@pytest.fixture(scope="module")
def reloaded(tmp_path_factory, few_families, random_of) -> dict[str, dict[str, np.ndarray]]:
    """What a fresh process computes with the families' files, by family."""
    directory = tmp_path_factory.mktemp("files")
    for number, family in enumerate(few_families):
        random_of(family).save(directory / f"{number}.keras")
        np.savez(directory / f"{number}.npz", **family.inputs(PAIRS))
    subprocess.run([sys.executable, "-c", RELOAD, str(directory)], check=True)
    return {
        family.name: dict(np.load(directory / f"{number}.found.npz"))
        for number, family in enumerate(few_families)
    }


def test_a_fresh_process_reloads_the_file_bit_for_bit(reloaded, one_of_few, random_of) -> None:
    family = one_of_few
    outputs = random_of(family)(family.inputs(PAIRS))
    outputs = outputs if isinstance(outputs, dict) else {"outputs": outputs}
    for name, values in outputs.items():
        np.testing.assert_array_equal(reloaded[family.name][name], values)


def test_a_keras_user_compiles_and_fits_it_with_plain_losses(headed_family) -> None:
    family = headed_family
    model, inputs = family.build(), family.inputs(PAIRS)
    outputs, generator = model(inputs), np.random.default_rng(0)

    def label(output: tf.Tensor) -> np.ndarray:
        """A class to learn for logits, a number otherwise."""
        if chooses(family):
            return generator.integers(0, output.shape[-1], output.shape[:-1])
        return generator.standard_normal(output.shape)

    labels = tf.nest.map_structure(label, outputs)
    loss = (
        keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        if chooses(family)
        else keras.losses.MeanSquaredError()
    )
    if isinstance(outputs, dict):
        loss = dict.fromkeys(outputs, loss)
    # With two outputs without a graph, which would say no more.
    eager = isinstance(outputs, dict)
    model.compile(keras.optimizers.Adam(0.01), loss, jit_compile=False, run_eagerly=eager)
    history = model.fit(inputs, labels, epochs=12, batch_size=3, verbose=0).history["loss"]
    assert history[-1] < 0.9 * history[0]
    predicted = model.predict(inputs, verbose=0)
    assert tf.nest.map_structure(np.shape, predicted) == tf.nest.map_structure(np.shape, outputs)


def test_without_a_loss_it_compiles_with_its_own(headed_family, tmp_path) -> None:
    family = headed_family
    model, inputs = family.build(), family.inputs(PAIRS)
    has_none = getattr(family.config, "head", "tokens") in (None, "spans", "embedding")
    has_none |= getattr(family.config, "crf", False)
    if isinstance(outputs := model(inputs), dict) or has_none:
        with pytest.raises(ValueError, match="has no loss of its own: give compile one"):
            model.compile()
        return
    generator = np.random.default_rng(0)
    labels = (
        generator.integers(0, outputs.shape[-1], outputs.shape[:-1])
        if chooses(family)
        else generator.standard_normal(outputs.shape)
    )
    model.compile(keras.optimizers.Adam(0.01), jit_compile=False)
    with without_graphs():
        history = model.fit(inputs, labels, epochs=3, batch_size=3, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert (
        type(loaded.loss) is type(model.loss)
        and loaded.loss.get_config() == model.loss.get_config()
    )
    model.compile("sgd", "mse")
    assert model.loss == "mse"


def chooses(family: Any) -> bool:
    """Whether a model returns logits to choose from."""
    return family.is_causal or family.config.head in (
        "masked_lm",
        "pretraining",
        "classification",
        "tagging",
    )


def test_is_a_layer_of_a_larger_model(plain_family, tmp_path, random_of) -> None:
    family = plain_family
    model = random_of(family)
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in family.inputs(PAIRS)}
    outputs = keras.tree.flatten(model(inputs))[0]
    larger = keras.Model(inputs, keras.layers.Dense(2, name="mine")(outputs))
    assert model in larger.layers
    batch = family.inputs(PAIRS)
    inner = keras.tree.flatten(model(batch))[0]
    np.testing.assert_allclose(larger(batch), larger.get_layer("mine")(inner), atol=1e-5)
    larger.save(tmp_path / "larger.keras")
    twin = keras.saving.load_model(tmp_path / "larger.keras")
    np.testing.assert_array_equal(twin(batch), larger(batch))


def test_parts_share_the_models_weights(family, random_of) -> None:
    model = random_of(family)
    own = {id(weight) for weight in model.weights}
    parts = ["prediction_states", "encoder", "decoder", "hidden_states"]
    for part in parts:
        try:
            found = getattr(model, part, None)
        except ValueError:  # Some heads have no logits.
            continue
        if found is not None:
            assert {id(weight) for weight in found.weights} <= own
