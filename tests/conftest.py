"""Fixtures shared by all tests: the table of search cases that every implementation of the search
must solve alike, the same search written out naively, and a small model with its artefacts."""

import dataclasses
import gc
import logging
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

# `tests` itself is no package here: tf2onnx installs one of that name.
for _folder in ("search_table", "vocabularies"):
    sys.path.insert(0, str(Path(__file__).with_name(_folder)))
NAIVE_SEARCH = import_module("naive_search").naive_search
SEARCH_CASES = [
    case
    for part in ("plain", "length", "constraint", "sampling")
    for case in import_module(f"{part}_cases").CASES
]


@pytest.hookimpl(optionalhook=True)  # Of pytest-xdist.
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keeps on one worker the tests of a file, for what they share; of SavedModels, of a folder."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::", 1)[0]
            return file.rpartition("/")[0] if "/saved_model/" in file else file

    return ByFile(config, log)


@pytest.fixture(params=SEARCH_CASES, ids=lambda case: case.name.replace(" ", "-"))
def search_case(request: pytest.FixtureRequest) -> Any:
    """Each case of the table in turn, a `SearchCase` of search_table."""
    case = request.param
    if case.expected is not None:
        return case
    found = [
        [ids for ids, _, _ in NAIVE_SEARCH(log_probs, **case.options, **case.sentence(place))]
        for place, log_probs in enumerate(case.log_probs)
    ]
    return dataclasses.replace(case, expected=found)


@pytest.fixture(scope="session")
def search_cases() -> list[Any]:
    """All cases of the table."""
    return SEARCH_CASES


@pytest.fixture(scope="session")
def naive_search() -> Callable[..., list[tuple[list[int], float, float]]]:
    """`naive_search(log_probs, **options)` of search_table: one sentence, as it is defined."""
    return NAIVE_SEARCH


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on this machine: install Debian's package chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


# Tracing a graph makes so many objects that looking through them would take a tenth of the time.
gc.set_threshold(100_000, 20, 20)


def pytest_collection_finish() -> None:
    """Leaves what has been imported out of collections of garbage, of which Keras makes many."""
    _leave_out_what_lives()


@pytest.fixture(scope="module", autouse=True)
def _quick_collections() -> Iterator[None]:
    """Leaves out what the tests of a file leave in memory, such as traced functions, too."""
    yield
    _leave_out_what_lives()


def _leave_out_what_lives() -> None:
    gc.collect()
    gc.freeze()


# What follows is for tests that need Keras, which is imported only where it is used.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# It counts how often the tests of a process trace, all together, and would warn of it.
logging.getLogger("tensorflow").setLevel(logging.ERROR)

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
        cls,
        q: np.ndarray,
        k: np.ndarray,
        v: np.ndarray,
        keep: np.ndarray | None = None,
        scale: bool = True,
        bias: np.ndarray | float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Equation 1: q (T, d_k), k (S, d_k), v (S, d_v); outputs (T, d_v), weights (T, S)."""
        weights = cls.softmax(q @ k.T / (math.sqrt(k.shape[-1]) if scale else 1) + bias, keep)
        return weights @ v, weights

    @classmethod
    def relative_bias(cls, stack: Any, length: int, block: int = 0) -> np.ndarray | None:
        """Raffel et al. 2020, section 2.1, distance by distance: (heads, T, T); None for none."""
        layer = stack.relative_of(block)
        if layer is None:
            return None
        matrix = np.asarray(layer.matrix, np.float64)
        biases = np.empty((layer.num_heads, length, length))
        for query in range(length):
            for key in range(length):
                biases[:, query, key] = matrix[cls.relative_bucket(layer, key - query)]
        return biases

    @staticmethod
    def relative_bucket(layer: Any, ahead: int) -> int:
        """The bucket of a key that stands a number of places after its query."""
        one_way, first = layer.num_buckets, 0
        if layer.attends_ahead:
            one_way //= 2
            first = one_way if ahead > 0 else 0
        distance = abs(ahead) if layer.attends_ahead else max(-ahead, 0)
        exact = one_way // 2
        if distance < exact:
            return first + distance
        share = math.log(distance / exact) / math.log(layer.max_distance / exact)
        # What float64 puts just below a whole number is that number.
        return first + min(exact + int(share * (one_way - exact) + 1e-9), one_way - 1)

    @staticmethod
    def rotary(vectors: np.ndarray, base: float, first_place: int = 0) -> np.ndarray:
        """Su et al. 2021, section 3.2, in complex numbers whose parts are halves: (T, d_k)."""
        turned = np.empty_like(vectors)
        half = vectors.shape[-1] // 2
        for place, vector in enumerate(vectors):
            for i in range(half):
                angle = (first_place + place) * base ** (-2 * i / (2 * half))
                number = complex(vector[i], vector[half + i]) * complex(
                    math.cos(angle), math.sin(angle)
                )
                turned[place, i], turned[place, half + i] = number.real, number.imag
        return turned

    @classmethod
    def multi_head(
        cls,
        layer: Any,
        query: np.ndarray,
        key: np.ndarray,
        keep: np.ndarray | None = None,
        bias: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Section 3.2.2 with the layer's weights; query (T, D), key (S, D), keep (T, S)."""
        heads, all_weights = [], []
        for head in range(layer.num_heads):
            # With fewer heads of keys, neighbouring heads of queries share one.
            shared = head // (layer.num_heads // layer.num_key_value_heads)
            q, k, v = (
                cls.linear(linear, states)[:, place * width : (place + 1) * width]
                for linear, states, width, place in (
                    (layer.query_linear, query, layer.key_dim, head),
                    (layer.key_linear, key, layer.key_dim, shared),
                    (layer.value_linear, key, layer.value_dim, shared),
                )
            )
            if layer.rotary_base is not None:
                q, k = (cls.rotary(vectors, layer.rotary_base) for vectors in (q, k))
            own_bias = 0.0 if bias is None else bias[head]
            if layer.distances is not None:
                own_bias = own_bias + cls.distance_scores(layer, head, q, k)
            attended, weights = cls.attention(q, k, v, keep, layer.scale, own_bias)
            heads.append(attended)
            all_weights.append(weights)
        outputs = cls.linear(layer.output_linear, np.concatenate(heads, axis=-1))
        if keep is not None:
            outputs = outputs * keep.any(axis=-1, keepdims=True)
        return outputs, np.stack(all_weights)

    @classmethod
    def distance_scores(cls, layer: Any, head: int, q: np.ndarray, k: np.ndarray) -> np.ndarray:
        """Dai et al. 2019, section 3.3: terms (b), (c) and (d) of each query and key, (T, S)."""
        distances, columns = layer.distances, slice(head * layer.key_dim, None)
        kernel = np.asarray(distances.linear.kernel, np.float64)[:, columns][:, : layer.key_dim]
        u, v = (
            np.asarray(bias, np.float64)[head]
            for bias in (distances.content_bias, distances.position_bias)
        )
        scores = np.empty((len(q), len(k)))
        for i, query in enumerate(q):
            for j, key in enumerate(k):
                projected = cls.sinusoid(i - j, len(kernel)) @ kernel
                scores[i, j] = query @ projected + u @ key + v @ projected
        return scores / (math.sqrt(layer.key_dim) if layer.scale else 1)

    @staticmethod
    def sinusoid(position: int, width: int, layout: str = "interleaved") -> np.ndarray:
        """Section 3.5 at a position, which may be negative: (D,).

        The other layouts have all sines first; Tensor2Tensor's has rates of its own.
        """
        vector = np.empty(width)
        for feature in range(width):
            if layout == "interleaved":
                pair, is_cosine = feature // 2, feature % 2 == 1
            else:
                pair, is_cosine = feature % (width // 2), feature >= width // 2
            last = width / 2 - 1 if layout == "tensor2tensor" else width / 2
            angle = position * 10000 ** (-pair / last)
            vector[feature] = math.cos(angle) if is_cosine else math.sin(angle)
        return vector

    @staticmethod
    def linear(dense: Any, states: np.ndarray) -> np.ndarray:
        """xW + b."""
        kernel = np.asarray(dense.kernel, np.float64)
        return states @ kernel + (np.asarray(dense.bias, np.float64) if dense.use_bias else 0)

    @classmethod
    def ssru(cls, layer: Any, states: np.ndarray, keep: np.ndarray | None = None) -> np.ndarray:
        """Kim et al. 2019, section 3.1, place by place: (T, D); places not kept are left out."""
        found, remembered = [], np.zeros(states.shape[-1])
        for place, state in enumerate(states):
            if keep is None or keep[place]:
                forget = 1 / (1 + np.exp(-cls.linear(layer.forget, state)))
                new = cls.linear(layer.candidate, state)
                remembered = forget * remembered + (1 - forget) * new
            found.append(np.maximum(0, remembered))
        return np.stack(found)

    @classmethod
    def feed_forward(cls, layer: Any, states: np.ndarray) -> np.ndarray:
        """Equation 2, or gated, Shazeer 2020."""
        hidden = cls.activate(layer.activation, cls.linear(layer.hidden, states))
        if layer.gated:
            hidden = hidden * cls.linear(layer.gate, states)
        return cls.linear(layer.output_linear, hidden)

    @staticmethod
    def activate(activation: Any, x: np.ndarray) -> np.ndarray:
        """An activation by its definition: GELU, Hendrycks and Gimpel 2016, equations 2 and 3."""
        tanh = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
        return {
            "relu": np.maximum(0, x),
            "silu": x / (1 + np.exp(-x)),
            "gelu": x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
            "gelu_tanh": x / 2 * (1 + tanh),
        }[activation.__name__]

    @classmethod
    def norm(cls, norm: Any, states: np.ndarray) -> np.ndarray:
        """The norm that a layer is: with a bias LayerNorm, without RMSNorm."""
        return (cls.layer_norm if hasattr(norm, "beta") else cls.rms_norm)(norm, states)

    @staticmethod
    def rms_norm(norm: Any, states: np.ndarray) -> np.ndarray:
        """Zhang and Sennrich 2019, equation 4, over the last axis."""
        root = np.sqrt((states**2).mean(axis=-1, keepdims=True) + norm.epsilon)
        return states / root * np.asarray(norm.gamma, np.float64)

    @staticmethod
    def layer_norm(norm: Any, states: np.ndarray) -> np.ndarray:
        """Ba et al. 2016, over the last axis."""
        centred = states - states.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        gamma, beta = (np.asarray(weight, np.float64) for weight in (norm.gamma, norm.beta))
        return centred / np.sqrt(variance + norm.epsilon) * gamma + beta

    @classmethod
    def embed(cls, embeddings: Any, ids: Any, types: Any = None) -> np.ndarray:
        """Section 3.4 and 3.5 with the layer's options, for a text without padding: (T, D)."""
        states = np.asarray(embeddings.tokens.matrix, np.float64)[ids]
        if embeddings.scale:
            states = states * math.sqrt(embeddings.model_dim)
        first, last = embeddings.position_offset, embeddings.position_offset + len(ids)
        if embeddings.add_positions and embeddings.max_positions is not None:
            states = states + np.asarray(embeddings.positions.matrix, np.float64)[first:last]
        elif embeddings.add_positions:
            layout = embeddings.sinusoid_layout
            states = states + cls.positions(last, embeddings.model_dim, layout)[first:]
        if types is not None:
            states = states + np.asarray(embeddings.token_types.matrix, np.float64)[types]
        if embeddings.layer_norm is not None:
            states = cls.layer_norm(embeddings.layer_norm, states)
        return states

    @classmethod
    def logits(cls, head: Any, states: np.ndarray) -> np.ndarray:
        """Section 3.4's final linear layer: own or tied, with a bias or without."""
        matrix = head.linear.kernel if head.tokens is None else np.transpose(head.tokens.matrix)
        logits = states @ np.asarray(matrix, np.float64)
        return logits if head.bias is None else logits + np.asarray(head.bias, np.float64)

    @staticmethod
    def positions(length: int, model_dim: int, layout: str = "interleaved") -> np.ndarray:
        """Section 3.5, written entry by entry: (length, model_dim)."""
        table = np.empty((length, model_dim))
        for position in range(length):
            table[position] = Paper.sinusoid(position, model_dim, layout)
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
def modern() -> dict[str, Any]:
    """Fields for `tiny_config`: the blocks of today's decoders, and attention without a scale."""
    return {
        "norm": "pre",
        "norm_kind": "rms_norm",
        "gated_feed_forward": True,
        "use_bias": False,
        "scale_attention": False,
        "num_heads": 6,
        "num_key_value_heads": 2,
        "key_dim": 4,
        "value_dim": 3,
        "rotary_base": 100.0,
    }


@pytest.fixture(scope="session")
def as_t5() -> dict[str, Any]:
    """Fields for `make_model`: the blocks of T5 1.1, and embeddings without positions."""
    return {
        "norm": "pre",
        "norm_kind": "rms_norm",
        "gated_feed_forward": True,
        "activation": "gelu_tanh",
        "use_bias": False,
        "scale_attention": False,
        "relative_buckets": 8,
        "relative_max_distance": 16,
        "positions": "none",
        "scale_embeddings": False,
    }


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


# A small random model, its tokenizers and its artefacts, each made once.
VOCABULARY = 60
TEXTS = [
    "a small house stands by the river",
    "the red dog runs to the house",
    "we see three birds",
    "you buy a book and you read it",
    "hello",
    "hello, how are you today? the river is blue and the birds are small",
]


@dataclasses.dataclass(frozen=True)
class Exported:
    """An artefact and what it was made of."""

    path: Path
    model: Any
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer


class Vocabularies:
    """Matrices of every kind that a screened search may meet, and states for them."""

    KINDS = ("normal", "loud tokens", "alike", "twins", "zeros", "extremes", "few")

    @staticmethod
    def matrix(kind: str, vocabulary: int, width: int, seed: int = 0) -> np.ndarray:
        """A vocabulary of one of `KINDS`: float32 `(vocabulary, width)`."""
        random = np.random.default_rng(seed)
        matrix = random.normal(0, 0.1, (vocabulary, width))
        if kind == "loud tokens":
            matrix[random.integers(0, vocabulary, 9)] *= 100
        elif kind == "alike":  # No byte tells them apart.
            matrix = matrix[:1] + 1e-5 * matrix
        elif kind == "twins":
            matrix = matrix[random.integers(0, 20, vocabulary)]
        elif kind == "zeros":
            matrix[:] = 0
        elif kind == "extremes":  # The largest sums that bytes can give.
            matrix = np.sign(matrix)
        elif kind == "few":
            matrix = matrix[:3]
        return matrix.astype(np.float32)

    @staticmethod
    def states(seed: int, rows: int, spread: float, matrix: np.ndarray) -> np.ndarray:
        """States of which some single out a token, and some have an outlier."""
        random = np.random.default_rng(seed)
        width = matrix.shape[1]
        states = random.normal(0, spread, (rows, width))
        states[::3] += 3 * spread * np.sign(matrix[random.integers(0, len(matrix))])
        states[1::4, random.integers(0, width)] *= 20
        return states.astype(np.float32)


@pytest.fixture(scope="session", params=Vocabularies.KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of `Vocabularies` in turn."""
    return request.param


@pytest.fixture(scope="session")
def vocabularies() -> type[Vocabularies]:
    """`Vocabularies`."""
    return Vocabularies


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Texts of unequal length that the tokenizer knows."""
    return list(TEXTS)


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXTS, VOCABULARY, "bpe")


@pytest.fixture(scope="session")
def masked_tokenizer() -> Tokenizer:
    """As `tokenizer`, with a piece `<mask>`."""
    return train_tokenizer(TEXTS, VOCABULARY, "bpe", has_mask=True)


@pytest.fixture(scope="session")
def small_encoder(masked_tokenizer: Tokenizer) -> Callable[..., Any]:
    """`small_encoder(**fields)`: a random encoder, 24 wide, with fields replaced, made once."""
    from keras_transformer.config.encoder_only import EncoderConfig
    from keras_transformer.models.encoder_only import build_encoder

    return _small(EncoderConfig, build_encoder, masked_tokenizer, {"max_positions": 64})


@pytest.fixture(scope="session")
def small_decoder(masked_tokenizer: Tokenizer) -> Callable[..., Any]:
    """As `small_encoder`, a decoder alone."""
    from keras_transformer.config.decoder_only import DecoderConfig
    from keras_transformer.models.decoder_only import build_decoder

    return _small(DecoderConfig, build_decoder, masked_tokenizer, {"max_positions": 60})


def _small(
    config_class: Any, build: Callable[..., Any], tokenizer: Tokenizer, extra: dict[str, Any]
) -> Callable[..., Any]:
    models: dict[str, Any] = {}
    sizes = {
        "vocab_size": VOCABULARY,
        "special_ids": tokenizer.special_ids,
        "model_dim": 24,
        "feed_forward_dim": 40,
        "num_heads": 4,
        "num_layers": 2,
        **extra,
    }

    def make(**fields: Any) -> Any:
        config = config_class(**{**sizes, **fields})
        if config.to_json() not in models:
            models[config.to_json()] = _randomize(build(config))
        return models[config.to_json()]

    return make


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Any]:
    """`make_model(**fields)`: a random 1+2-layer model, 32 wide, with fields replaced."""
    import keras

    from keras_transformer.models.transformer import build_transformer

    def make(**fields: Any) -> Any:
        settings = {
            "source_vocab_size": VOCABULARY,
            "model_dim": 32,
            "feed_forward_dim": 48,
            "num_heads": 4,
            "num_encoder_layers": 1,
            "num_decoder_layers": 2,
        }
        keras.utils.set_random_seed(1)
        return build_transformer(TransformerConfig(**{**settings, **fields}))

    return make


@pytest.fixture(scope="session")
def learned(make_model: Callable[..., Any], tokenizer: Tokenizer) -> Callable[..., Any]:
    """`learned(steps=60, **fields)`: `make_model`'s, trained to say the texts backwards."""
    models: dict[str, Any] = {}

    def make(steps: int = 60, **fields: Any) -> Any:
        model = make_model(**fields)
        key = f"{steps} {model.config.to_json()}"
        if key not in models:
            _learn(model, tokenizer, steps)
            models[key] = model
        return models[key]

    return make


@pytest.fixture(scope="session")
def learned_model(learned: Callable[..., Any]) -> Any:
    """The small model, trained for a moment to say the texts backwards."""
    return learned()


@pytest.fixture(scope="session")
def ending_model(make_model: Callable[..., Any]) -> Any:
    """A model whose best next token is the end, whatever came before."""
    model = make_model(num_decoder_layers=1)
    weights = {weight.path: weight for weight in model.weights}
    last = "decoder/block_0/feed_forward_residual/layer_norm"
    end = weights["source_embeddings/tokens/matrix"].numpy()[3]
    weights[f"{last}/gamma"].assign(np.zeros_like(end))
    weights[f"{last}/beta"].assign(end)
    return model


@pytest.fixture(scope="session")
def exported(
    learned_model: Any, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Exported:
    """The learned model and its artefact; tests must not change its files."""
    return _export(learned_model, tokenizer, tmp_path_factory, "onnxruntime")


@pytest.fixture(scope="session")
def exported_portable(
    learned_model: Any, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Exported:
    """As `exported`, of standard operators."""
    return _export(learned_model, tokenizer, tmp_path_factory, "portable")


@pytest.fixture(scope="session")
def exported_native(
    learned_model: Any, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Exported:
    """As `exported`, with this package's own operators."""
    return _export(learned_model, tokenizer, tmp_path_factory, "native")


@pytest.fixture(scope="session")
def exported_fastest(
    learned_model: Any, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Exported:
    """As `exported`, with graphs for "onnxruntime" and for "native"."""
    return _export(learned_model, tokenizer, tmp_path_factory, "fastest")


@pytest.fixture(scope="session")
def export_small(
    small_encoder: Callable[..., Any],
    small_decoder: Callable[..., Any],
    masked_tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Exported]:
    """`export_small(family, target="onnxruntime", **fields)`: a small model's artefact, made once.

    Tests must not change its files.
    """
    made: dict[str, Exported] = {}

    def make(family: str, target: str = "onnxruntime", **fields: Any) -> Exported:
        model = (small_encoder if family == "encoder" else small_decoder)(**fields)
        key = f"{target} {model.config.to_json()}"
        if key not in made:
            made[key] = _export(model, masked_tokenizer, tmp_path_factory, target)
        return made[key]

    return make


@pytest.fixture(scope="session")
def keras_side(learned_model: Any, tokenizer: Tokenizer) -> Any:
    """The Keras `Translator` of `exported`'s model: it traces a search once for all tests."""
    from keras_transformer.decoding.translator import Translator

    return Translator(learned_model, tokenizer)


def _export(
    model: Any, tokenizer: Tokenizer, factory: pytest.TempPathFactory, target: str
) -> Exported:
    from keras_transformer.export import export_onnx

    path = export_onnx(model, tokenizer, factory.mktemp(target) / "artefact", target=target)
    return Exported(path, model, tokenizer, tokenizer)


def _learn(model: Any, tokenizer: Tokenizer, steps: int) -> None:
    """Teaches a model to say the texts backwards, so that outputs end, each at its own length."""
    import keras

    rows = tokenizer.encode(TEXTS)
    length = max(map(len, rows)) + 1

    def pad(ids: list[list[int]]) -> Any:
        return np.array([row + [0] * (length - len(row)) for row in ids], np.int32)

    inputs = {
        "source_ids": pad([[*row, 3] for row in rows]),
        "target_ids": pad([[model.config.special_ids.decoder_start, *row[::-1]] for row in rows]),
    }
    labels = pad([[*row[::-1], 3] for row in rows])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    model.compile(keras.optimizers.Adam(0.01), loss)
    for _ in range(steps):
        model.train_on_batch(inputs, labels)


@pytest.fixture(scope="session")
def tokenizer_jsons() -> dict[str, bytes]:
    """A `tokenizer.json` as BERT's, RoBERTa's and GPT-2's are, each trained on a few sentences."""
    return import_module("tokenizer_jsons").make_all()
