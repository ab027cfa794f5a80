"""Options of a model that its graphs cannot hold are refused by name; those of today's blocks are
held by every target."""

import dataclasses
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.stack import AttentionConfig, StackConfig
from keras_transformer.decoding.translator import Translator
from keras_transformer.export import Manifest, OnnxTranslator, export_onnx
from keras_transformer.export.onnx import expressible
from keras_transformer.export.onnx.expressible import unsupported
from keras_transformer.text.tokenizer import Tokenizer

OPTIONS: list[dict[str, Any]] = [
    {"norm": "both"},
    {"norm": "output"},
    {"norm_kind": "rms_norm"},
    {"gated_feed_forward": True},
    {"gated_feed_forward": True, "activation": "squared_relu"},
    {"use_bias": False},
    {"attention_bias": False},
    {"attention_output_bias": False},
    {"feed_forward_bias": False},
    {"scale_attention": False},
    {"num_key_value_heads": 1},
    {"query_key_norm": True},
    {"query_key_norm": True, "query_key_norm_over": "all_heads"},
    {"rotary_base": 10_000.0},
    {
        "rotary_base": 10_000.0,
        "rotary_width": 2,
        "rotary_scaling": {"kind": "linear", "factor": 2.0},
    },
    {"window": 3},
    {"attention_soft_cap": 2.0},
    {"block_pattern": ({"window": 3}, {"rotary_base": 100.0, "feed_forward_dim": 7})},
    {"block_groups": 1},
    {"position_offset": 2},
    {"sinusoid_layout": "halves"},
    {"sinusoid_layout": "tensor2tensor"},
    {"relative_buckets": 8},
    {"relative_buckets": 8, "relative_max_distance": 20},
    {"relative_buckets": 8, "relative_per_block": True},
    {"logit_bias": True},
    {"scale_embeddings": False},
    {"embedding_norm": True},
    {"decoder_recurrence": "ssru"},
]
EMITTED_FORMS = (
    ("onnxruntime", "float32"),
    ("onnxruntime", "int8"),
    ("native", "float32"),
    ("portable", "float16"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NewAttention(AttentionConfig):
    """Attention with an option that no emitter has heard of."""

    sinks: int | None = None


def with_new_option(config: Any, monkeypatch: pytest.MonkeyPatch, **option: Any) -> None:
    """Gives the model's blocks `NewAttention`."""
    block = config.encoder.blocks[0]
    own = NewAttention(**vars(block.own), **option)
    stack = StackConfig(blocks=(dataclasses.replace(block, own=own),), num_layers=1)
    monkeypatch.setattr(type(config), "encoder", stack)


def test_a_new_option_is_refused_until_an_emitter_holds_it(tiny_config, monkeypatch) -> None:
    config = tiny_config()
    with_new_option(config, monkeypatch, sinks=4)
    for form in EMITTED_FORMS:
        assert unsupported(config, *form) == {"sinks": 4}
    assert unsupported(config, "portable", "float32") == {}
    monkeypatch.setitem(expressible.kinds.HOLDS, NewAttention, {"sinks"})
    for form in EMITTED_FORMS:
        assert unsupported(config, *form) == {}


def test_a_new_option_at_its_default_is_held(tiny_config, monkeypatch) -> None:
    config = tiny_config()
    with_new_option(config, monkeypatch)
    assert unsupported(config, "native", "float32") == {}


@pytest.mark.parametrize("fields", OPTIONS, ids=str)
def test_every_option_of_a_block_is_held(fields: dict, tiny_config) -> None:
    for form in EMITTED_FORMS:
        assert unsupported(tiny_config(**fields), *form) == {}


def test_every_preset_of_one_stack_is_held() -> None:
    for family in (EncoderConfig, DecoderConfig):
        for name in family.presets:
            config = family.preset(name, vocab_size=100)
            held = {} if name != "lstm-tiny" else {"recurrence": "lstm"}
            assert unsupported(config, "native", "int8") == held


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"norm": "pre", "activation": "gelu", "layer_norm_epsilon": 1e-6, "dropout": 0.0},
        {"positions": "learned", "max_positions": 9, "num_decoder_layers": 1},
        {"share_embeddings": "none", "target_vocab_size": 19, "key_dim": 5, "value_dim": 2},
        {"num_heads": 4, "num_key_value_heads": 4},
    ],
    ids=str,
)
def test_what_graphs_always_held_is_not_refused(fields: dict, tiny_config) -> None:
    assert unsupported(tiny_config(**fields), "native", "int8") == {}


@pytest.mark.parametrize(
    "settings", [{}, {"target": "native"}, {"quantize": "int8"}, {"quantize": "float16"}], ids=str
)
def test_nothing_is_written_for_a_refused_model(
    settings: dict,
    make_model: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    model = make_model(additive_attention=True)
    with pytest.raises(ValueError, match=r"cannot hold additive=True: "):
        export_onnx(model, tokenizer, tmp_path / "artefact", **settings)
    assert not list(tmp_path.iterdir())


def test_additive_scores_are_for_the_portable_target(tiny_config) -> None:
    config = tiny_config(additive_attention=True)
    assert all(unsupported(config, *form) == {"additive": True} for form in EMITTED_FORMS)
    assert unsupported(config, "portable", "float32") == {}


# Fused operators need keys that are as wide as values, and some of them a multiple of 8.
WIDTHS = {
    "widths apart": {},
    "equal widths": {"key_dim": 4, "value_dim": 4},
    "widths of 8": {"key_dim": 8, "value_dim": 8, "norm": "post"},
    "distances": {
        "key_dim": 4,
        "value_dim": 4,
        "rotary_base": None,
        "relative_sinusoids": True,
        "attention_soft_cap": 2.0,
    },
}
BEAM_SIZES = (1, 3)


@pytest.fixture(scope="module")
def keras_found(
    make_model: Callable[..., Any],
    modern: dict[str, Any],
    randomize: Callable[..., Any],
    tokenizer: Tokenizer,
    texts: list[str],
) -> Callable[[str], tuple[Any, list[Any]]]:
    """`keras_found(widths)`: a model, and the ids that Keras finds for each of `BEAM_SIZES`."""

    @cache
    def found(widths: str) -> tuple[Any, list[Any]]:
        relative = {"relative_buckets": 8, "relative_max_distance": 6}
        model = randomize(make_model(**{**modern, **relative, **WIDTHS[widths]}), scale=0.2)
        return model, ids(Translator(model, tokenizer), texts)

    return found


def ids(translator: Any, texts: list[str]) -> list[list[list[list[int]]]]:
    return [
        [
            [one.ids for one in few]
            for few in translator.translate_n_best(texts, beam_size=beam_size, max_length=8)
        ]
        for beam_size in BEAM_SIZES
    ]


@pytest.mark.parametrize(
    ("target", "widths"),
    [
        # tf2onnx takes its time; Keras's own functions are what it exports.
        pytest.param("portable", "widths apart", marks=pytest.mark.exhaustive),
        pytest.param("onnxruntime", "equal widths", marks=pytest.mark.exhaustive),
        pytest.param("onnxruntime", "widths of 8", marks=pytest.mark.exhaustive),
        pytest.param("onnxruntime", "distances", marks=pytest.mark.exhaustive),
        pytest.param("native", "widths apart", marks=pytest.mark.exhaustive),
        pytest.param("native", "equal widths", marks=pytest.mark.exhaustive),
        pytest.param("onnxruntime", "widths apart", marks=pytest.mark.exhaustive),
        pytest.param("native", "distances", marks=pytest.mark.exhaustive),
        ("native", "widths of 8"),
    ],
)
def test_graphs_of_every_option_find_the_same_as_keras(
    target: str,
    widths: str,
    keras_found: Callable[[str], tuple[Any, list[Any]]],
    tokenizer: Tokenizer,
    texts: list[str],
    tmp_path: Path,
) -> None:
    model, wanted = keras_found(widths)
    path = export_onnx(model, tokenizer, tmp_path / "artefact", target=target)
    falls_back = target == "native" and widths == "widths apart"
    assert Manifest.read(path).target == ("onnxruntime" if falls_back else target)
    assert ids(OnnxTranslator(path, threads=1), texts) == wanted
