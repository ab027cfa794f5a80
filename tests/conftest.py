"""Fixtures shared by all tests: the table of search cases that every implementation of the search
must solve alike, and the same search written out naively."""

import dataclasses
import math
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import numpy as np
import pytest

PAD, UNK, BOS, EOS = 0, 1, 2, 3
A, B, C = 4, 5, 6
VOCABULARY = 7

# Probability of each next token given (sentence, tokens so far, last token); what is left of 1 is
# shared by the tokens that are not named. A row that is missing altogether ends surely.
Script = dict[tuple[int, int, int], dict[int, float]]


@dataclasses.dataclass(frozen=True)
class SearchCase:
    """A scripted search: `log_probs[sentence, tokens so far, last token]` over the vocabulary.

    `expected` holds, for every sentence, the ids of the best hypotheses without bos and eos.
    """

    name: str
    log_probs: np.ndarray  # float32 (sentences, max_length, vocabulary, vocabulary), nats
    expected: list[list[list[int]]]
    beam_size: int = 1
    length_penalty: float = 0.6
    num_hypotheses: int = 1
    max_length: int = 5

    @property
    def options(self) -> dict[str, int | float]:
        """The options as every search takes them."""
        names = ("beam_size", "length_penalty", "num_hypotheses", "max_length")
        return {name: getattr(self, name) for name in names}


def _case(name: str, script: Script, expected: list[list[list[int]]], **options) -> SearchCase:
    length = options.get("max_length", SearchCase.max_length)
    table = np.full((len(expected), length, VOCABULARY, VOCABULARY), 1e-6)
    table[..., EOS] = 1 - 1e-6 * (VOCABULARY - 1)
    for place, given in script.items():
        if place[1] >= length:
            continue
        table[place] = (1 - math.fsum(given.values())) / max(VOCABULARY - len(given), 1)
        for token, probability in given.items():
            table[place][token] = probability
    # No case depends on probability 0, which implementations write differently.
    table = np.maximum(table, 1e-9)
    log_probs = np.log(table / table.sum(-1, keepdims=True)).astype(np.float32)
    return SearchCase(name, log_probs, expected, **options)


# Greedy takes A (0.5) and is left with 0.4; B (0.4) then ends with 0.9.
GARDEN_PATH: Script = {
    (0, 0, BOS): {A: 0.5, B: 0.4},
    (0, 1, A): {EOS: 0.4, A: 0.3, C: 0.25},
    (0, 1, B): {EOS: 0.9},
}
# A ends with 0.49, A B C with 0.36: which is better depends on the length penalty.
SHORT_OR_LONG: Script = {
    (0, 0, BOS): {A: 0.98},
    (0, 1, A): {EOS: 0.5, B: 0.49},
    (0, 2, B): {C: 0.8, EOS: 0.1},
    (0, 3, C): {EOS: 0.95},
}
ALWAYS_C: Script = {(0, step, last): {C: 0.9} for step in range(5) for last in (BOS, C)}

SEARCH_CASES = [
    _case(
        "greedy follows the most probable token",
        {(0, 0, BOS): {A: 0.6}, (0, 1, A): {B: 0.6}},
        [[[A, B]]],
    ),
    _case("greedy may end at once", {(0, 0, BOS): {EOS: 0.6}}, [[[]]]),
    _case("greedy is cut at max_length", ALWAYS_C, [[[C] * 5]]),
    _case("one token, and it is not the end", ALWAYS_C, [[[C]]], max_length=1),
    _case(
        "padding and the start are never generated",
        {(0, 0, BOS): {PAD: 0.5, BOS: 0.3, A: 0.1}},
        [[[A]]],
    ),
    _case("the unknown token may be generated", {(0, 0, BOS): {UNK: 0.6}}, [[[UNK]]]),
    _case("of equal tokens the lowest id wins", {(0, 0, BOS): {B: 0.3, C: 0.3, A: 0.1}}, [[[B]]]),
    _case("of end and word, equal, the end wins", {(0, 0, BOS): {EOS: 0.4, A: 0.4}}, [[[]]]),
    _case("greedy takes the garden path", GARDEN_PATH, [[[A]]]),
    _case("two beams find the way round", GARDEN_PATH, [[[B]]], beam_size=2),
    _case(
        "n best come in order",
        GARDEN_PATH,
        [[[B], [A], [A, A]]],
        beam_size=3,
        num_hypotheses=3,
        length_penalty=0.0,
    ),
    _case(
        "without a penalty the short one wins",
        SHORT_OR_LONG,
        [[[A]]],
        beam_size=2,
        length_penalty=0.0,
    ),
    _case(
        "with a penalty the long one wins",
        SHORT_OR_LONG,
        [[[A, B, C]]],
        beam_size=2,
        length_penalty=1.5,
    ),
    _case(
        "an end below the first K ranks does not count",
        # With two beams the end ranks third at the first token, so the empty translation is lost.
        {
            (0, 0, BOS): {A: 0.4, B: 0.3, EOS: 0.2},
            (0, 1, A): {A: 0.3, C: 0.25},
            (0, 1, B): {B: 0.3, C: 0.25},
        },
        [[[A, A], [A, C]]],
        beam_size=2,
        num_hypotheses=2,
        length_penalty=0.0,
    ),
    _case(
        "sentences end at different lengths",
        {
            (0, 0, BOS): {A: 0.9},
            (1, 0, BOS): {B: 0.9},
            (1, 1, B): {C: 0.9},
            (1, 2, C): {A: 0.9},
            (2, 0, BOS): {EOS: 0.9},
            (3, 0, BOS): {C: 0.9},
            (3, 1, C): {C: 0.9},
        },
        [[[A]], [[B, C, A]], [[]], [[C, C]]],
    ),
    _case(
        "beams of sentences that end at different lengths",
        {
            (0, 0, BOS): {A: 0.6, B: 0.3},
            (1, 0, BOS): {B: 0.5, C: 0.4},
            (1, 1, B): {C: 0.5, A: 0.4},
            (1, 1, C): {A: 0.9},
            (1, 2, A): {B: 0.6, EOS: 0.3},
            (1, 2, C): {EOS: 0.6, B: 0.3},
            (2, 0, BOS): {EOS: 0.9, A: 0.05},
        },
        [[[A], [B]], [[C, A, B], [B, C]], [[], [A]]],
        beam_size=2,
        num_hypotheses=2,
    ),
    _case(
        "what is cut at max_length competes by its score",
        # Ended: 0.45 × 0.5; cut: 0.5 × 0.9, better although it never ended.
        {(0, 0, BOS): {A: 0.5, B: 0.45}, (0, 1, A): {C: 0.9}, (0, 1, B): {EOS: 0.5, A: 0.3}},
        [[[A, C], [B]]],
        beam_size=2,
        num_hypotheses=2,
        max_length=2,
    ),
    _case(
        "an end in the last step wins a tie with a cut",
        {(0, 0, BOS): {EOS: 0.4, A: 0.4}},
        [[[], [A]]],
        beam_size=2,
        num_hypotheses=2,
        max_length=1,
    ),
]


@pytest.fixture(params=SEARCH_CASES, ids=lambda case: case.name.replace(" ", "-"))
def search_case(request: pytest.FixtureRequest) -> SearchCase:
    """Each case of the table in turn."""
    return request.param


NaiveHypothesis = tuple[list[int], float, float]


@pytest.fixture(scope="session")
def naive_search() -> Callable[..., list[NaiveHypothesis]]:
    """`naive_search(log_probs, *, beam_size, length_penalty, num_hypotheses, max_length)`.

    Searches one sentence, `log_probs` (max_length, vocabulary, vocabulary), as the definition
    reads; returns (ids, score, log-probability) of the best, computed in float32 as the searches.
    """
    return _naive_search


def _naive_search(
    log_probs: np.ndarray,
    *,
    beam_size: int,
    length_penalty: float,
    num_hypotheses: int,
    max_length: int,
) -> list[NaiveHypothesis]:
    alive = [(np.float32(0), [BOS])]
    finished: list[tuple[np.float32, np.float32, list[int]]] = []
    for length in range(1, max_length + 1):
        penalty = np.float32(((5 + length) / 6) ** length_penalty)
        continuations = [
            (total + log_probs[length - 1, ids[-1], token], [*ids, token])
            for total, ids in alive
            for token in range(log_probs.shape[-1])
            if token not in (PAD, BOS)
        ]
        # sorted() is stable: of equal totals the lowest beam, then the lowest id comes first.
        best = sorted(continuations, key=lambda found: -found[0])[: 2 * beam_size]
        ended = [found for found in best[:beam_size] if found[1][-1] == EOS]
        alive = [found for found in best if found[1][-1] != EOS][:beam_size]
        joining = ended + (alive if length == max_length else [])
        finished += [(total / penalty, total, ids) for total, ids in joining]
        finished = sorted(finished, key=lambda found: -found[0])[:beam_size]
        if not alive:
            break
        if len(finished) == beam_size and finished[-1][0] >= alive[0][0] / penalty:
            break
    return [
        ([token for token in ids[1:] if token != EOS], float(score), float(total))
        for score, total, ids in finished[:num_hypotheses]
    ]


# What follows is for tests that need Keras, which is imported only where it is used.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# A first call may trace a graph, so that time says nothing about an example.
hypothesis.settings.register_profile("keras", deadline=None, max_examples=40)
hypothesis.settings.load_profile("keras")


@pytest.fixture(autouse=True)
def _same_keras_state() -> Iterator[None]:
    """Every test starts from the same seeds and policy, whatever ran before it."""
    _reset_keras()
    yield
    _reset_keras()


def _reset_keras() -> None:
    keras = sys.modules.get("keras")
    if keras is not None:
        keras.utils.set_random_seed(0)
        keras.config.set_dtype_policy("float32")


class Paper:
    """The equations of "Attention Is All You Need" in float64 NumPy, one sentence at a time."""

    @staticmethod
    def softmax(scores: np.ndarray, keep: np.ndarray | None = None) -> np.ndarray:
        """Row-wise softmax over the entries of `keep`; a row that keeps none is zeros."""
        keep = np.broadcast_to(True if keep is None else keep, scores.shape)
        largest = np.max(scores, axis=-1, keepdims=True, where=keep, initial=-1e300)
        exponents = np.where(keep, np.exp(np.where(keep, scores - largest, 0)), 0)
        return exponents / np.maximum(exponents.sum(axis=-1, keepdims=True), 1e-300)

    @classmethod
    def attention(
        cls, q: np.ndarray, k: np.ndarray, v: np.ndarray, keep: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Equation 1: q (T, d_k), k (S, d_k), v (S, d_v); outputs (T, d_v), weights (T, S)."""
        weights = cls.softmax(q @ k.T / math.sqrt(k.shape[-1]), keep)
        return weights @ v, weights

    @classmethod
    def multi_head(
        cls, layer: Any, query: np.ndarray, key: np.ndarray, keep: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Section 3.2.2 with the layer's weights; query (T, D), key (S, D), keep (T, S)."""
        heads, all_weights = [], []
        for head in range(layer.num_heads):
            q, k, v = (
                cls.linear(linear, states)[:, head * width : (head + 1) * width]
                for linear, states, width in (
                    (layer.query_linear, query, layer.key_dim),
                    (layer.key_linear, key, layer.key_dim),
                    (layer.value_linear, key, layer.value_dim),
                )
            )
            attended, weights = cls.attention(q, k, v, keep)
            heads.append(attended)
            all_weights.append(weights)
        outputs = cls.linear(layer.output_linear, np.concatenate(heads, axis=-1))
        if keep is not None:
            outputs = outputs * keep.any(axis=-1, keepdims=True)
        return outputs, np.stack(all_weights)

    @staticmethod
    def linear(dense: Any, states: np.ndarray) -> np.ndarray:
        """xW + b."""
        kernel = np.asarray(dense.kernel, np.float64)
        return states @ kernel + (np.asarray(dense.bias, np.float64) if dense.use_bias else 0)

    @classmethod
    def feed_forward(cls, layer: Any, states: np.ndarray) -> np.ndarray:
        """Equation 2."""
        return cls.linear(layer.output_linear, np.maximum(0, cls.linear(layer.hidden, states)))

    @staticmethod
    def layer_norm(norm: Any, states: np.ndarray) -> np.ndarray:
        """Ba et al. 2016, over the last axis."""
        centred = states - states.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        gamma, beta = (np.asarray(weight, np.float64) for weight in (norm.gamma, norm.beta))
        return centred / np.sqrt(variance + norm.epsilon) * gamma + beta

    @staticmethod
    def positions(length: int, model_dim: int) -> np.ndarray:
        """Section 3.5, written entry by entry: (length, model_dim)."""
        table = np.empty((length, model_dim))
        for position in range(length):
            for feature in range(model_dim):
                i = feature // 2
                angle = position / 10000 ** (2 * i / model_dim)
                table[position, feature] = math.cos(angle) if feature % 2 else math.sin(angle)
        return table


@pytest.fixture(scope="session")
def paper() -> type[Paper]:
    """The paper's equations in float64 NumPy."""
    return Paper


@pytest.fixture(scope="session")
def randomize() -> Callable[..., Any]:
    """`randomize(layer, seed=0)` draws every weight anew, biases and norms too; returns it."""
    return _randomize


def _randomize(layer: Any, seed: int = 0, scale: float = 0.4) -> Any:
    generator = np.random.default_rng(seed)
    for weight in layer.weights:
        centre = 1.0 if weight.name == "gamma" else 0.0
        weight.assign(centre + scale * generator.standard_normal(weight.shape))
    return layer


@pytest.fixture(scope="session")
def tiny_config() -> Callable[..., Any]:
    """`tiny_config(**fields)`: 24 ids, width 12, 2+2 layers, dropout 0.1."""

    def make(**fields: Any) -> Any:
        from keras_transformer.config import TransformerConfig

        sizes = {
            "source_vocab_size": 24,
            "model_dim": 12,
            "feed_forward_dim": 20,
            "num_heads": 3,
            "num_encoder_layers": 2,
            "num_decoder_layers": 2,
        }
        return TransformerConfig(**{**sizes, **fields})

    return make


@pytest.fixture(scope="session")
def random_model(tiny_config: Callable[..., Any]) -> Callable[..., Any]:
    """`random_model(**fields)`: a model of `tiny_config` with random weights, made once."""
    models: dict[str, Any] = {}

    def make(**fields: Any) -> Any:
        from keras_transformer.models import build_transformer

        config = tiny_config(**fields)
        if config.to_json() not in models:
            models[config.to_json()] = _randomize(build_transformer(config))
        return models[config.to_json()]

    return make
