"""The chain of tags against a search through all paths, in float64, and against pytorch-crf."""

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.layers import LinearChainCRF

THEIRS = Path(__file__).parents[2] / "fixtures" / "chains" / "pytorch_crf.npz"


class Case(NamedTuple):
    """A layer with random scores, and texts for it."""

    layer: LinearChainCRF
    emissions: np.ndarray
    word_mask: np.ndarray
    tags: np.ndarray


@st.composite
def cases(draw: Any) -> Case:
    num_tags, length = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    pairs = st.tuples(*[st.integers(0, num_tags)] * 2)
    forbidden = draw(st.lists(pairs, max_size=4))
    random = np.random.default_rng(draw(st.integers(0, 9)))
    layer = randomized(LinearChainCRF(num_tags, forbidden), random)
    # Many texts in a case: each call of a layer costs more than they do.
    mask = random.random((12, length)) < random.random((12, 1))
    emissions = 2 * random.standard_normal((*mask.shape, num_tags))
    return Case(layer, emissions.astype("float32"), mask, random.integers(0, num_tags, mask.shape))


def randomized(layer: LinearChainCRF, random: np.random.Generator) -> LinearChainCRF:
    if not layer.built:
        layer.build((None, None, layer.num_tags))
    for weight in layer.weights:
        weight.assign(random.standard_normal(weight.shape))
    return layer


def all_paths(case: Case, text: int, *, forbids: bool) -> dict[tuple[int, ...], float]:
    """Returns the score of each path through the words of a text."""
    layer = case.layer
    edge, learnt = layer.num_tags, [np.asarray(one, np.float64) for one in layer.weights]
    transitions, starts, ends = learnt
    emissions = case.emissions[text][case.word_mask[text]].astype(np.float64)
    scores = {}
    for path in itertools.product(range(edge), repeat=len(emissions)):
        pairs = [*itertools.pairwise(path)]
        score = emissions[range(len(path)), list(path)].sum() + sum(transitions[p] for p in pairs)
        score += starts[path[0]] + ends[path[-1]] if path else 0
        if forbids and path:
            around = [(edge, path[0]), *pairs, (path[-1], edge)]
            score -= 1e9 * sum(pair in layer.forbidden for pair in around)
        scores[path] = score
    return scores


@settings(max_examples=8)
@given(cases())
def test_the_likelihood_is_that_among_all_paths(case: Case) -> None:
    found = case.layer.log_likelihood(case.emissions, case.tags, case.word_mask)
    for text, mask in enumerate(case.word_mask):
        paths = all_paths(case, text, forbids=False)
        expected = paths[tuple(case.tags[text][mask])] - np.logaddexp.reduce([*paths.values()])
        assert float(found[text]) == pytest.approx(expected, abs=1e-4)


@settings(max_examples=8)
@given(cases())
def test_the_best_path_is_the_best_of_all(case: Case) -> None:
    found = np.asarray(case.layer(case.emissions, case.word_mask))
    for text, mask in enumerate(case.word_mask):
        paths = all_paths(case, text, forbids=True)
        assert paths[tuple(found[text][mask])] == pytest.approx(
            max(paths.values()), rel=1e-6, abs=1e-4
        )


@settings(max_examples=8)
@given(cases())
def test_marginals_are_sums_over_all_paths(case: Case) -> None:
    found = np.asarray(case.layer.marginals(case.emissions, case.word_mask))
    for text, mask in enumerate(case.word_mask):
        paths = all_paths(case, text, forbids=True)
        total = np.logaddexp.reduce([*paths.values()])
        if total < -1e8:
            continue  # Every path is forbidden, and float32 has no digits left to tell them apart.
        expected = np.zeros((mask.sum(), case.layer.num_tags))
        for path, score in paths.items():
            expected[range(len(path)), list(path)] += np.exp(score - total)
        np.testing.assert_allclose(found[text][mask], expected, atol=1e-5)


@settings(max_examples=8)
@given(cases(), st.integers(1, 3))
def test_padding_and_neighbours_change_nothing(case: Case, padding: int) -> None:
    wide = np.pad(case.emissions, [(0, 0), (0, padding), (0, 0)], constant_values=7)
    mask = np.pad(case.word_mask, [(0, 0), (0, padding)])
    tags = np.pad(case.tags, [(0, 0), (0, padding)])
    batch = case.layer.log_likelihood(wide, tags, mask), case.layer(wide, mask)
    for text in (0, 7):
        one = slice(text, text + 1)
        alone = case.emissions[one], case.word_mask[one]
        likelihood = case.layer.log_likelihood(alone[0], case.tags[one], alone[1])
        np.testing.assert_allclose(likelihood[0], batch[0][text], atol=1e-5)
        best = np.asarray(case.layer(*alone))[0], np.asarray(batch[1])[text]
        np.testing.assert_array_equal(*(path[: len(alone[1][0])][alone[1][0]] for path in best))


@pytest.mark.parametrize("compiled", [pytest.param(False, marks=pytest.mark.exhaustive), True])
def test_gradients_are_those_of_differences_in_any_direction(compiled: bool) -> None:
    random = np.random.default_rng(3)
    layer = randomized(LinearChainCRF(3, dtype="float64"), random)
    mask = np.array([[False, True, True, False, True], [True, False, False, False, False]])
    tags = random.integers(0, 3, mask.shape)
    given = [random.standard_normal((*mask.shape, 3)), *(np.array(one) for one in layer.weights)]

    def loss(emissions: Any, *weights: Any) -> Any:
        variables = [(one, value) for one, value in zip(layer.weights, weights, strict=True)]
        with keras.StatelessScope(state_mapping=variables):
            return tf.reduce_sum(layer.log_likelihood(emissions, tags, mask))

    @tf.function(jit_compile=compiled)
    def gradients(*values: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(values)
            total = loss(*values)
        return tape.gradient(total, values)

    for place, found in enumerate(gradients(*map(tf.constant, given))):
        direction, ends = random.standard_normal(found.shape), []
        for step in (1e-5, -1e-5):
            moved = [*given[:place], given[place] + step * direction, *given[place + 1 :]]
            ends.append(float(loss(*map(tf.constant, moved))))
        expected = (ends[0] - ends[1]) / 2e-5
        assert float(np.sum(found * direction)) == pytest.approx(expected, abs=1e-6)


def test_lengths_may_change_from_call_to_call() -> None:
    layer = randomized(LinearChainCRF(3), np.random.default_rng(0))
    graph = tf.function(layer, input_signature=[tf.TensorSpec((None, None, 3))])
    for length in (1, 4, 2):
        emissions = np.random.default_rng(length).standard_normal((2, length, 3), np.float32)
        np.testing.assert_array_equal(graph(emissions), layer(emissions))


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_sums_are_in_float32_whatever_the_policy(policy: str) -> None:
    random = np.random.default_rng(0)
    emissions = 30 * random.standard_normal((1, 40, 3), np.float32)
    tags = random.integers(0, 3, (1, 40))
    layer, plain = (LinearChainCRF(3, dtype=one) for one in (policy, "float32"))
    layer.build(emissions.shape)
    plain.build(emissions.shape)
    for found in (layer.log_likelihood(emissions, tags), layer.marginals(emissions)):
        assert found.dtype == "float32"
    np.testing.assert_array_equal(
        layer.log_likelihood(emissions, tags), plain.log_likelihood(emissions, tags)
    )


def test_survives_its_file_inside_a_functional_model(tmp_path: Path) -> None:
    emissions, mask = keras.Input((None, 3)), keras.Input((None,), dtype="bool")
    layer = LinearChainCRF(3, forbidden=[(3, 0), (1, 2)])
    model = keras.Model([emissions, mask], layer(emissions, mask))
    randomized(layer, np.random.default_rng(1))
    assert (model.output.shape, model.output.dtype) == ((None, None), "int32")
    model.save(tmp_path / "model.keras")
    twin = keras.saving.load_model(tmp_path / "model.keras")
    given = [np.random.default_rng(2).standard_normal((4, 6, 3)), np.ones((4, 6), bool)]
    np.testing.assert_array_equal(twin(given), model(given))
    assert twin.get_layer(layer.name).get_config() == layer.get_config()


def test_what_is_forbidden_is_never_found_but_may_be_learnt() -> None:
    layer = LinearChainCRF(2, forbidden=[(0, 1)])
    emissions = np.array([[[2.0, 0.0], [0.0, 1.0]]], np.float32)
    assert np.asarray(layer(emissions)).tolist() == [[0, 0]]
    assert float(layer.log_likelihood(emissions, np.array([[0, 1]]))[0]) > -1
    # Nothing else is left: the best of what is forbidden.
    impossible = LinearChainCRF(1, forbidden=[(0, 0)])
    assert np.asarray(impossible(np.zeros((1, 3, 1), np.float32))).tolist() == [[0, 0, 0]]
    assert np.asarray(impossible.marginals(np.zeros((1, 3, 1), np.float32))).tolist() == [
        [[1.0]] * 3
    ]


def test_a_place_without_a_tag_has_that_of_the_word_before() -> None:
    emissions = np.eye(3, dtype=np.float32)[None, [0, 2, 1, 0]]
    mask = np.array([[False, True, False, True]])
    assert np.asarray(LinearChainCRF(3)(emissions, mask)).tolist() == [[2, 2, 2, 0]]


@pytest.mark.skipif(not THEIRS.is_file(), reason="no oracle: run make oracles")
def test_equals_pytorch_crf() -> None:
    theirs = np.load(THEIRS)
    layer = LinearChainCRF(theirs["transitions"].shape[0])
    layer.build(theirs["emissions"].shape)
    for name in ("transitions", "starts", "ends"):
        getattr(layer, name).assign(theirs[name])
    given, mask = theirs["emissions"], theirs["word_mask"]
    likelihood = layer.log_likelihood(given, theirs["tags"], mask)
    np.testing.assert_allclose(likelihood, theirs["log_likelihood"], rtol=1e-5)
    np.testing.assert_array_equal(np.asarray(layer(given, mask))[mask], theirs["best"][mask])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_tags": 0}, "num_tags must be at least 1, got 0"),
        ({"num_tags": 2, "forbidden": [(0, 3)]}, r"from 0 to 1, or 2 for the edge .* got \(0, 3\)"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LinearChainCRF(**arguments)


def test_emissions_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"as many features as num_tags \(2\), got .*\(1, 4, 3\)"):
        LinearChainCRF(2)(np.zeros((1, 4, 3), np.float32))
