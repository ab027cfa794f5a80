"""Every family, head and option, exported for every target in every precision, gives what it gives
in Keras: small models of random weights that hold each choice of the configs at least once."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.family import STEP_GRAPHS
from keras_transformer.export import Manifest, export_onnx
from keras_transformer.export.onnx.check.running import CheckedGraph
from keras_transformer.export.onnx.quantize.precision import target_in
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.models.encoder_only import build_encoder
from keras_transformer.text.tokenizer import Tokenizer
from tools.covering import sampled_fixture

FORMS = {
    "onnxruntime": ("onnxruntime", None),
    "onnxruntime int8": ("onnxruntime", "int8"),
    "onnxruntime int8_batch_dependent": ("onnxruntime", "int8_batch_dependent"),
    "native": ("native", None),
    "native int8": ("native", "int8"),
    "native int8_batch_dependent": ("native", "int8_batch_dependent"),
    "native bfloat16": ("native", "bfloat16"),
    "onnxruntime int4": ("onnxruntime", "int4"),
    "native int4": ("native", "int4"),
    "portable": ("portable", None),
    "portable float16": ("portable", "float16"),
}
EMITTED = [name for name in FORMS if "portable" not in name]
# The largest error in float32; else the mean one (root of squares), relative to the spread.
EXACT = 1e-4
MEAN_ERRORS = {"float16": 0.02, "bfloat16": 0.04, "int8": 0.15, "int8_batch_dependent": 0.25}
# Of models whose weights 4 bits hold, so that inputs alone are rounded.
MEAN_ERRORS |= {"int4": MEAN_ERRORS["int8"]}
# The words that convolutions give are rounded, too.
WORDS_IN_INT4 = 0.5
# Of few numbers that happen to be alike.
LEAST_SPREAD = 0.1
SMALL: dict[str, Any] = {
    "model_dim": 32,
    "feed_forward_dim": 48,
    "num_heads": 4,
    "num_layers": 2,
    "max_positions": 40,
}
SINUSOIDS = {"positions": "sinusoidal", "max_positions": None, "scale_embeddings": True}
MODERN = {
    "norm_kind": "rms_norm",
    "gated_feed_forward": True,
    "use_bias": False,
    "scale_attention": False,
    "num_key_value_heads": 2,
    "rotary_base": 100.0,
    "positions": "none",
    "max_positions": None,
    "activation": "silu",
}
ROTARY = {"rotary_base": 100.0, "positions": "none", "max_positions": None}
# As T5 has it.
RELATIVE = {
    "norm": "pre",
    "norm_kind": "rms_norm",
    "use_bias": False,
    "scale_attention": False,
    "relative_buckets": 8,
    "relative_max_distance": 6,
    "positions": "none",
    "max_positions": None,
}
# Windows that alternate with the whole text, of other places.
IN_TURN = {
    "block_pattern": ({"window": 2}, {"rotary_base": 1000.0, "query_key_norm": True}),
    **ROTARY,
}
MODERN_BERT = {
    **IN_TURN,
    "norm": "pre",
    "first_norm": False,
    "num_token_types": 0,
    "gated_feed_forward": True,
    "use_bias": False,
    "head_transform": True,
    "pooler": False,
}
CAPPED = {"attention_soft_cap": 0.5, "final_logit_soft_cap": 5.0}
SHARED = {"num_layers": 3, "block_groups": 1}
LABELS = ("a", "b", "c")
ENCODERS: dict[str, dict[str, Any]] = {
    "states and pooler": {},
    "states alone, pre-norm, sinusoids": {
        "pooler": False,
        "norm": "pre",
        **SINUSOIDS,
        "position_offset": 2,
        "sinusoid_layout": "halves",
    },
    "masked_lm": {"head": "masked_lm", "activation": "gelu_tanh", "masked_activation": "gelu"},
    "pretraining": {"head": "pretraining"},
    "classification": {"head": "classification", "labels": LABELS},
    "classification without a pooler": {
        "head": "classification",
        "labels": LABELS,
        "pooler": False,
        "num_token_types": 1,
    },
    "regression": {"head": "regression", "num_token_types": 0, "embedding_norm": False},
    "regression, 0 to 1": {"head": "regression", "value_activation": "sigmoid"},
    "tagging": {"head": "tagging", "labels": LABELS},
    "tagging with a chain": {"head": "tagging", "labels": ("B-X", "I-X", "O"), "crf": True},
    "spans": {"head": "spans"},
    "embedding, mean": {"head": "embedding"},
    "embedding, first": {
        "head": "embedding",
        "pooling": "first",
        "unit_vectors": True,
        "activation": "relu",
        "position_offset": 2,
    },
    "embedding, joined": {
        "head": "embedding",
        "pooling": "mean_sqrt_length+weighted_mean+last+max+first+mean",
        "dense": (
            {"out_dim": 20, "activation": "gelu", "use_bias": False},
            {"out_dim": 12, "activation": "tanh"},
            {"out_dim": 8, "activation": "mish"},
        ),
    },
    "embedding, last": {"head": "embedding", "pooling": "last", "dense": ({"out_dim": 8},)},
    "modern, post-norm": {"head": "masked_lm", **MODERN},
    "squared ReLU behind gates": {
        "head": "masked_lm",
        "gated_feed_forward": True,
        "activation": "squared_relu",
    },
    "modern, pre-norm, widths apart": {**MODERN, "norm": "pre", "key_dim": 6, "value_dim": 5},
    "rotary, post-norm": {"head": "masked_lm", "query_key_norm": True, **ROTARY},
    "windows in turn": {"head": "masked_lm", "norm": "both", **IN_TURN},
    "as ModernBERT": {"head": "tagging", "labels": LABELS, **MODERN_BERT},
    "as ModernBERT, mean": {
        "head": "classification",
        "labels": LABELS,
        **MODERN_BERT,
        "text_state": "mean",
    },
    "as XLNet": {
        "head": "classification",
        "labels": LABELS,
        "positions": "none",
        "max_positions": None,
        "num_token_types": 3,
        "relative_sinusoids": True,
        "relative_segments": True,
        "attention_bias": False,
        "embedding_norm": False,
    },
    "as DeBERTa": {
        "head": "classification",
        "labels": LABELS,
        "positions": "none",
        "max_positions": None,
        "num_token_types": 0,
        "pooler_activation": "gelu",
        "disentangled_buckets": 4,
        "relative_max_distance": 6,
    },
    "capped": {"head": "masked_lm", "attention_soft_cap": 0.5},
    "shared blocks": {"head": "masked_lm", **SHARED},
    "as ALBERT": {**SHARED, "head": "masked_lm", "embedding_dim": 12, "activation": "gelu_tanh"},
    "factorised, pre-norm": {
        "norm": "pre",
        "embedding_dim": 12,
        "embedding_norm": False,
        **SINUSOIDS,
    },
    "as T5's encoder": {**RELATIVE, "pooler": False},
    "as MPNet": {
        "relative_buckets": 8,
        "relative_max_distance": 6,
        "position_offset": 2,
        "num_token_types": 0,
        "head": "embedding",
    },
    "relative, post-norm, shared heads": {
        **RELATIVE,
        "norm": "post",
        "use_bias": True,
        "num_key_value_heads": 2,
        "head": "masked_lm",
    },
    "relative, widths apart": {**RELATIVE, "key_dim": 6, "value_dim": 5, "head": "embedding"},
}
DECODERS: dict[str, dict[str, Any]] = {
    "as GPT-2": {},
    "an offset, and a norm of embeddings": {
        "position_offset": 2,
        "embedding_norm": True,
        "norm": "post",
        "num_layers": 1,
    },
    "post-norm, sinusoids, own head": {"norm": "post", "tied_head": False, **SINUSOIDS},
    "as Llama": {**MODERN, "scale_attention": True},
    "modern, post-norm, odd widths": {**MODERN, "norm": "post", "key_dim": 6, "value_dim": 6},
    "biases of logits, sinusoids of Tensor2Tensor": {
        "logit_bias": True,
        "num_layers": 1,
        **SINUSOIDS,
        "sinusoid_layout": "tensor2tensor",
    },
    "as Gemma 3": {**MODERN, **IN_TURN, "norm": "both", "scale_embeddings": True},
    "windows, post-norm, odd widths": {"norm": "post", "key_dim": 6, "value_dim": 6, "window": 2},
    "relative, windows, widths apart": {**RELATIVE, "window": 3, "key_dim": 6, "value_dim": 5},
    "shared blocks, windows in turn": {
        "num_layers": 4,
        "block_groups": 1,
        "blocks_per_group": 2,
        **IN_TURN,
    },
    "as Gemma 2": {**MODERN, **IN_TURN, "norm": "both", **CAPPED},
    "capped, relative, post-norm": {
        "final_logit_soft_cap": 1.0,
        "logit_bias": True,
        "relative_buckets": 8,
        "norm": "post",
        "attention_soft_cap": 0.5,
    },
    "distances that count alike from one on": {
        "relative_sinusoids": True,
        "farthest_distance": 2,
        "positions": "none",
        "max_positions": None,
    },
    "words of characters": {
        "character_dim": 3,
        "character_filters": 2,
        "tied_head": False,
        "num_layers": 1,
    },
    "clusters of ids": {"cutoffs": (10, 25), "div_value": 2, "logit_bias": True},
    "clusters of ids, own head": {"cutoffs": (20,), "tied_head": False, "num_layers": 1},
    "as Qwen 3": {**MODERN, "scale_attention": True, "query_key_norm": True},
    "as OLMo 2": {
        **MODERN,
        "norm": "output",
        "query_key_norm": True,
        "query_key_norm_over": "all_heads",
        "rotary_scaling": {"kind": "yarn", "factor": 4.0, "original_length": 64, "magnitude": 1.2},
    },
    "as Qwen 3, scaled": {
        **MODERN,
        "query_key_norm": True,
        "rotary_width": 4,
        "rotary_scaling": {"kind": "yarn", "factor": 4.0, "original_length": 64, "magnitude": 1.2},
    },
    "norms of queries and keys, post-norm": {"norm": "post", "query_key_norm": True},
    "rotary, norms on both sides": {**ROTARY, "norm": "both"},
    "as T5's decoder": {**RELATIVE, "logit_bias": True},
    "relative, post-norm, shared heads, odd widths": {
        **RELATIVE,
        "norm": "post",
        "use_bias": True,
        "num_key_value_heads": 2,
        "key_dim": 6,
        "value_dim": 6,
    },
    "relative, widths apart, rotary": {
        **RELATIVE,
        "key_dim": 6,
        "value_dim": 5,
        "rotary_base": 100.0,
    },
    "widths apart": {
        "key_dim": 6,
        "value_dim": 5,
        "rotary_base": 100.0,
        "num_layers": 1,
        "query_key_norm": True,
    },
}
# What tf2onnx takes its time for: what no other case holds.
PORTABLE = [
    "states and pooler",
    "masked_lm",
    "pretraining",
    "embedding, first",
    "squared ReLU behind gates",
    "as XLNet",
    "as Llama",
    "as T5's encoder",
    "as T5's decoder",
    "clusters of ids",
]
QUICK = [("embedding, first", "portable")]
EXACT_FORMS = ("onnxruntime", "native")
# Each holds what others hold apart from each other.
COMBINED = [
    "states alone, pre-norm, sinusoids",
    "modern, post-norm",
    "as ModernBERT, mean",
    "shared blocks",
    "relative, post-norm, shared heads",
    "modern, post-norm, odd widths",
    "windows, post-norm, odd widths",
    "as Gemma 3",
    "capped, relative, post-norm",
    "clusters of ids, own head",
    "as Qwen 3",
    "norms of queries and keys, post-norm",
    "rotary, norms on both sides",
    "relative, post-norm, shared heads, odd widths",
    "relative, widths apart, rotary",
]
# Together they hold every kind of layer, which is what a precision changes.
TYPICAL = ["masked_lm", "as T5's encoder", "as GPT-2", "as Llama", "as T5's decoder"]
ROUNDED = [
    (one, form)
    for one in [*ENCODERS, *DECODERS]
    for form in EMITTED
    if form not in EXACT_FORMS
    # Refused in bfloat16, which only our operators have.
    and not ("widths apart" in one and form == "native bfloat16")
]
# Each model but the combined ones in float32 for one of the two targets, each other precision of
# typical models; the rest of the product, and most of the slow exports, are for `make test-all`.
CASES = [
    *sampled_fixture(
        [
            (one, form)
            for one in [*ENCODERS, *DECODERS]
            for form in EXACT_FORMS
            if one not in COMBINED
        ]
    ),
    *(
        pytest.param((one, form), marks=pytest.mark.exhaustive)
        for one in COMBINED
        for form in EXACT_FORMS
    ),
    *sampled_fixture([case for case in ROUNDED if case[0] in TYPICAL]),
    *(
        pytest.param(case, marks=pytest.mark.exhaustive)
        for case in ROUNDED
        if case[0] not in TYPICAL
    ),
    *(
        pytest.param((one, form), marks=() if (one, form) in QUICK else pytest.mark.exhaustive)
        for form in ("portable", "portable float16")
        for one in PORTABLE
    ),
]

Arrays = dict[str, np.ndarray]


class Exported:
    """A model, the manifest of its graphs for a target, and these by name."""

    def __init__(self, model: Any, path: Path, target: str) -> None:
        manifest = Manifest.read(path)
        # An artefact without graphs for "native" has others in their place.
        target = target if target in manifest.targets else manifest.target
        self.model, self.manifest, self._path = model, manifest.of_target(target), path

    def run(self, graph: str, **inputs: np.ndarray) -> Arrays:
        return CheckedGraph(self.manifest, ArtefactFiles(self._path), graph).run(inputs)

    def run_in_place(self, graph: str, caches: Arrays, **inputs: np.ndarray) -> Arrays:
        return CheckedGraph(self.manifest, ArtefactFiles(self._path), graph).run_in_place(
            inputs, caches
        )

    def close(self, found: np.ndarray, expected: Any) -> None:
        """Compares an output with Keras's."""
        expected = np.asarray(expected)
        assert found.shape == expected.shape and found.dtype == np.float32
        if self.manifest.precision == "float32":
            np.testing.assert_allclose(found, expected, rtol=0, atol=EXACT)
        else:
            spread = max(expected.std(), LEAST_SPREAD)
            assert np.sqrt(np.mean((found - expected) ** 2)) < self._mean_error() * spread

    def _mean_error(self) -> float:
        precision, config = self.manifest.precision, self.model.config
        if precision == "int4" and getattr(config, "character_dim", None):
            return WORDS_IN_INT4
        return MEAN_ERRORS[precision]


@pytest.fixture(scope="module")
def make(randomize: Callable[..., Any], tokenizer: Tokenizer) -> Callable[..., Any]:
    """`make(variant)` gives a model, made once; `make(variant, "int4")` one that 4 bits hold."""

    @cache
    def made(variant: str, precision: str | None = None) -> Any:
        fields = {
            "vocab_size": tokenizer.vocab_size,
            "special_ids": tokenizer.special_ids,
            **SMALL,
            **(ENCODERS.get(variant) or DECODERS.get(variant) or {}),
        }
        is_encoder = variant in ENCODERS
        config = EncoderConfig(**fields) if is_encoder else DecoderConfig(**fields)
        model = randomize((build_encoder if is_encoder else build_decoder)(config), scale=0.2)
        if precision == "int4":
            round_matrices(model)
        return model

    return made


def round_matrices(model: Any, step: float = 1 / 16) -> None:
    """Rounds the matrices to 15 levels, the same for all: 4 bits hold them whatever the blocks."""
    for weight in model.weights:
        if len(weight.shape) > 1:
            values = keras.ops.convert_to_numpy(weight)
            weight.assign(step * np.clip(np.rint(values / step), -7, 7))


@pytest.fixture(scope="module")
def export(
    make: Callable[..., Any], tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str, str | None], Path]:
    """`export(variant, target, quantize)` gives an artefact's path, made once."""

    @cache
    def exported(variant: str, target: str, quantize: str | None) -> Path:
        path = tmp_path_factory.mktemp("family") / "artefact"
        model = make(variant, "int4" if quantize == "int4" else None)
        return export_onnx(model, tokenizer, path, target=target, quantize=quantize)

    return exported


@pytest.fixture(scope="module", params=CASES, ids=": ".join)
def case(
    request: pytest.FixtureRequest,
    make: Callable[..., Any],
    export: Callable[[str, str, str | None], Path],
) -> Exported:
    variant, form = request.param
    target, quantize = FORMS[form]
    # One artefact has the graphs for both.
    written = target if target == "portable" else "fastest"
    model = make(variant, "int4" if quantize == "int4" else None)
    return Exported(model, export(variant, written, quantize), target)


def test_graphs_give_what_keras_gives(case: Exported) -> None:
    if case.manifest.family == "encoder":
        check_encoder(case)
    else:
        check_decoder(case)


@pytest.mark.parametrize("form", ["portable", *EMITTED])
def test_what_layers_share_is_stored_once(
    make: Callable[..., Any], randomize: Callable[..., Any], form: str
) -> None:
    name, precision = FORMS[form]
    target, deep = target_in(precision or "float32", name), make("shared blocks")
    single = randomize(build_encoder(dataclasses.replace(deep.config, num_layers=1)), scale=0.2)
    one, many = (
        sum(stored.ByteSize() for stored in target.graph("encoder", model, 18).graph.initializer)
        for model in (single, deep)
    )
    # A norm's bias, to which all but the last layer add that of the next, and small constants.
    assert many < one + 1000 < 1.15 * one


def check_encoder(case: Exported) -> None:
    ids = np.array([[2, 9, 12, 30, 3], [0, 0, 2, 7, 3], [2, 3, 0, 0, 0], [2, 0, 7, 3, 0]], np.int32)
    inputs = {"token_ids": ids, "token_type_ids": np.int32(ids > 10)}
    if case.model.config.num_token_types < 2:
        del inputs["token_type_ids"]
    keep = ids != 0
    states = case.run("encoder", **inputs)["states"]
    case.close(states[keep], np.asarray(case.model.encoder(inputs))[keep])
    if "head" not in case.manifest.graphs:
        return
    expected, places = case.model(inputs), np.array([[0, 1], [4, 2], [1, 1], [3, 2]], np.int32)
    if case.model.config.head == "pretraining":
        [found] = case.run("next_sentence", **inputs).values()
        case.close(found, expected["next_sentence"])
        expected = expected["logits"]
    elif isinstance(expected, Mapping):
        expected = expected["pooled"]
    if case.model.config.head in ("masked_lm", "pretraining"):
        expected = np.take_along_axis(np.asarray(expected), places[:, :, None], axis=1)
    [found] = case.run("head", **inputs, places=places).values()
    if case.model.config.head in ("tagging", "spans"):
        found, expected = found[keep], np.asarray(expected)[keep]
    case.close(found, expected)
    if case.model.config.crf:
        check_chain(case)


def check_chain(case: Exported) -> None:
    """The graph "chain" is float32 in every precision, and the same for every target."""
    logits = 2 * np.random.default_rng(0).standard_normal((3, 4, 3), np.float32)
    found = case.run("chain", logits=logits, num_words=np.array([4, 1, 2], np.int32))
    chain, is_word = case.model.head.chain, np.arange(4) < np.array([[4], [1], [2]])
    expected = np.asarray(chain.marginals(logits, is_word))
    np.testing.assert_allclose(found["probabilities"][is_word], expected[is_word], atol=1e-5)
    np.testing.assert_array_equal(
        found["tags"][is_word], np.asarray(chain(logits, is_word))[is_word]
    )


@pytest.mark.parametrize("target", ["onnxruntime", "native"])
@pytest.mark.parametrize("variant", ["states and pooler", "as T5's encoder"])
def test_a_text_s_states_do_not_depend_on_its_batch(
    variant: str,
    target: str,
    make: Callable[..., Any],
    export: Callable[[str, str, str | None], Path],
) -> None:
    exported = Exported(make(variant), export(variant, "fastest", None), target)
    # Beside a longer text, and one without a token.
    batch = np.array([[2, 9, 3, 0, 0], [0, 0, 0, 0, 0], [2, 8, 7, 5, 3]], np.int32)
    together = exported.run("encoder", token_ids=batch, token_type_ids=0 * batch)["states"]
    alone = exported.run("encoder", token_ids=batch[:1, :3], token_type_ids=0 * batch[:1, :3])
    np.testing.assert_allclose(together[:1, :3], alone["states"], rtol=0, atol=1e-5)
    assert np.isfinite(together).all() and not together[0, 3:].any()


def check_decoder(case: Exported) -> None:
    """A prompt is put into the caches, then continued; its scores are those of Keras."""
    model = case.model
    ids = np.array([[2, 9, 12, 30, 7], [2, 7, 7, 8, 5]], np.int32)
    logits = np.asarray(model({"token_ids": ids}))
    shape = (2, model.config.key_value_heads, 8)
    caches = {
        f"cache_{kind}_{layer}": np.zeros((*shape, width), dtype(case))
        for layer in range(model.config.num_layers)
        for kind, width in (("key", model.config.key_dim), ("value", model.config.value_dim))
    }
    read_prompts(case, caches, ids[:, :4])
    one_row = {"token_ids": ids[:, 4], "step": np.array([4], np.int32)}
    beams = {
        "beam_size": np.array([1], np.int32),
        "num_candidates": np.array([3], np.int64),
        "totals": np.zeros((2, 1), np.float32),
        "cache_beams": np.zeros((2, 1, 8), np.int32),
    }
    for graph in STEP_GRAPHS:
        own = {name: part.copy() for name, part in caches.items()}
        found = case.run_in_place(graph, own, **one_row, **beams)
        if "logits" in found:
            case.close(found["logits"], logits[:, 4])
        if case.manifest.precision == "float32" and "next_ids" in found:
            assert found["next_ids"].tolist() == logits[:, 4].argmax(axis=1).tolist()
    labels = np.roll(ids, -1, axis=1)
    scores = np.asarray(keras.ops.log_softmax(logits))
    expected = np.take_along_axis(scores, labels[:, :, None], axis=2)[:, :, 0]
    found = case.run("scorer", token_ids=ids, labels=labels)
    case.close(found["log_probabilities"], expected)


def read_prompts(case: Exported, caches: dict[str, np.ndarray], ids: np.ndarray) -> None:
    """Puts prompts into caches, in two runs where the graph reads on."""
    if all(spec.name != "step" for spec in case.manifest.graphs["prefill"].inputs):
        case.run_in_place("prefill", caches, token_ids=ids)
        return
    case.run_in_place("prefill", caches, token_ids=ids[:, :2], step=np.zeros(1, np.int32))
    for row in range(len(ids)):
        own = {name: part[row : row + 1] for name, part in caches.items()}
        rest = ids[row : row + 1, 2:]
        case.run_in_place("prefill", own, token_ids=rest, step=np.array([2], np.int32))


def dtype(case: Exported) -> str:
    """The type of the caches."""
    return case.manifest.graphs["greedy"].outputs[-1].dtype


def test_the_manifest_names_family_target_and_precision(
    case: Exported, request: pytest.FixtureRequest, tokenizer: Tokenizer
) -> None:
    variant, form = request.node.callspec.params["case"]
    manifest, (target, quantize) = case.manifest, FORMS[form]
    assert manifest.family == ("encoder" if variant in ENCODERS else "decoder")
    assert manifest.precision == (quantize or "float32")
    falls_back = "widths apart" in variant and target == "native"
    assert manifest.target == ("onnxruntime" if falls_back else target)
    assert dict(manifest.config) == plain(case.model.config.to_dict())
    assert list(manifest.tokenizers) == ["text"]
    assert manifest.special_ids == tokenizer.special_ids
    head = variant in ENCODERS and (case.model.config.head or case.model.config.pooler)
    graphs = ["encoder", *(["head"] if head else [])]
    if variant == "pretraining":
        graphs.append("next_sentence")
    if variant == "tagging with a chain":
        graphs.append("chain")
    if variant in DECODERS:
        graphs = [*STEP_GRAPHS, "scorer", "prefill"]
    assert list(manifest.graphs) == graphs


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """As JSON gives them back."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
