"""What a toolkit cannot express is refused by the config's field, and nothing is written."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import from_pretrained
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.export import export_pretrained
from keras_transformer.export.pretrained import marian
from keras_transformer.models.encoder_only import build_encoder
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

STACKS = Path(__file__).parents[2] / "fixtures" / "stacks"
AT_THE_ENDS = SentenceMarks(languages={"en": 5, "de": 6}, languages_in="ends", source_language="en")
T5 = {"norm": "pre", "norm_kind": "rms_norm", "use_bias": False, "scale_attention": False}
T5 |= {"positions": "none", "scale_embeddings": False, "relative_buckets": 8}
T5GEMMA = {
    **{"norm": "both", "norm_kind": "rms_norm", "use_bias": False, "gated_feed_forward": True},
    **{"positions": "none", "rotary_base": 100.0, "activation": "gelu_tanh"},
    "share_embeddings": "none",
}
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("huggingface", {"layer_norm_epsilon": 1e-3}, "layer_norm_epsilon=1e-05, got 0.001"),
    ("huggingface", {"share_embeddings": "target"}, "share_embeddings='all', got 'target'"),
    ("huggingface", {"position_offset": 2}, "position_offset=0, got 2"),
    ("huggingface", {"sinusoid_layout": "tensor2tensor"}, "'halves', got 'tensor2tensor'"),
    ("huggingface", {"relative_sinusoids": True}, "relative_sinusoids=False, got True"),
    (
        "ctranslate2",
        {"positions": "none", "relative_buckets": 8, "relative_per_block": True},
        "relative_per_block=False, got True",
    ),
    ("huggingface", {"marks": SentenceMarks(source_eos=False)}, "sources that end with eos"),
    ("ctranslate2", {"marks": AT_THE_ENDS}, "must be 'both' or 'source', got 'ends'"),
    (
        "huggingface",
        {
            **{"positions": "learned", "max_positions": 30, "position_offset": 2},
            **{"embedding_norm": True, "logit_bias": True},
        },
        "BartForConditionalGeneration needs one tokenizer.json for both sides",
    ),
    (
        "huggingface",
        {"norm": "pre", "sinusoid_layout": "tensor2tensor", "position_offset": 2},
        "tokenizers of languages need one vocabulary that begins with <s>, <pad>, </s>, <unk>",
    ),
    (
        "huggingface",
        {
            **{"sinusoid_layout": "tensor2tensor", "position_offset": 2},
            **{"share_embeddings": "target"},
        },
        "FSMTForConditionalGeneration needs vocabularies of pieces with spaces between them",
    ),
    ("huggingface", {"value_dim": 4}, "value_dim=8, got 4"),
    ("marian", {}, "sinusoid_layout='tensor2tensor', got 'interleaved'"),
    ("ctranslate2", {"decoder_recurrence": "ssru"}, "decoder_recurrence=None, got 'ssru'"),
    ("huggingface", {"decoder_recurrence": "ssru"}, "decoder_recurrence=None, got 'ssru'"),
    ("ctranslate2", {"rotary_base": 100.0}, "rotary_base=None, got 100.0"),
    ("ctranslate2", {"key_dim": 4}, "key_dim=8, got 4"),
    ("ctranslate2", {"activation": "elu"}, "activation='relu' or .*, got 'elu'"),
    ("ctranslate2", {"activation": "squared_relu"}, "activation='relu' or .*, got 'squared_relu'"),
    ("ctranslate2", {"positions": "none"}, "needs relative_buckets, got None"),
    (
        "huggingface",
        {**T5, "encoder_pattern": ({"window": 3}, {})},
        "LongT5ForConditionalGeneration needs an encoder_pattern of one window",
    ),
    (
        "huggingface",
        {**T5GEMMA, "encoder_pattern": ({"window": 1}, {})},
        "needs windows of 2 places or more in the encoder, got 1",
    ),
    (
        "huggingface",
        {**T5GEMMA, "block_pattern": ({"window": 3}, {"window": 4})},
        "T5GemmaForConditionalGeneration needs blocks that differ by one window",
    ),
    ("huggingface", {**T5GEMMA, "rotary_base": None}, "needs a rotary_base, such as 10000.0"),
]


@pytest.mark.parametrize(("format", "fields", "message"), REFUSED)
def test_a_field_is_named(
    format: Any,
    fields: dict[str, Any],
    message: str,
    translator_of: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    model = translator_of(tokenizer, **fields)
    with pytest.raises(ValueError, match=message) as raised:
        export_pretrained(model, tmp_path / "out", format=format, tokenizer=tokenizer)
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("format", "message"),
    [
        ("marian", "holds encoder-decoders, got family='decoder'"),
        ("huggingface", "GPT2LMHeadModel needs the vocabulary of a tokenizer.json, got one that"),
    ],
)
def test_what_a_model_with_one_stack_lacks_is_named(
    format: Any,
    message: str,
    small_decoder: Callable[..., Any],
    masked_tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    with pytest.raises(ValueError, match=message):
        export_pretrained(
            small_decoder(), tmp_path / "out", format=format, tokenizer=masked_tokenizer
        )


@pytest.mark.parametrize("name", ["bert", "mpnet", "nomic_bert"])
def test_a_score_is_read_from_a_pooler(name: str, tmp_path: Path) -> None:
    """Hugging Face's classes of these have one, which would be random in theirs."""
    filler, tokenizer, _ = from_pretrained(STACKS / name)
    reranker = build_encoder(replace(filler.config, head="regression"))
    with pytest.raises(ValueError, match="with head='regression' needs pooler=True, got False"):
        export_pretrained(reranker, tmp_path / "out", format="huggingface", tokenizer=tokenizer)


def test_a_trained_first_input_is_no_marian(
    marian_model: Callable[..., Any], marian_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    model = marian_model()
    matrix = model.source_embeddings.tokens.matrix
    matrix.assign(np.array(matrix) + 0.1)
    with pytest.raises(ValueError, match="has been trained"):
        export_pretrained(model, tmp_path / "out", format="marian", tokenizer=marian_tokenizer)


def test_t5_shares_its_embeddings(
    translator_of: Callable[..., Any], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    model = translator_of(tokenizer, share_embeddings="none", **T5)
    matrix = model.target_embeddings.tokens.matrix
    matrix.assign(np.array(matrix) + 0.1)
    with pytest.raises(ValueError, match="one matrix for source and target embeddings"):
        export_pretrained(model, tmp_path / "out", format="huggingface", tokenizer=tokenizer)


def test_hugging_face_s_tokenizer_has_one_vocabulary(
    translator_of: Callable[..., Any], tokenizer: Tokenizer, texts: list[str], tmp_path: Path
) -> None:
    other = train_tokenizer([text.upper() for text in texts], tokenizer.vocab_size, "bpe")
    with pytest.raises(ValueError, match=r"the id \d+ is '.*' in the source's vocabulary"):
        export_pretrained(
            translator_of(tokenizer),
            tmp_path / "out",
            format="huggingface",
            tokenizer=tokenizer,
            target_tokenizer=other,
        )


@pytest.mark.parametrize(
    ("format", "package", "message"),
    [
        ("ctranslate2", "ctranslate2.specs", "pip install ctranslate2"),
        ("huggingface", "safetensors.numpy", "pip install"),
    ],
)
def test_a_missing_package_is_named(
    format: Any,
    package: str,
    message: str,
    translator_of: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=message):
        export_pretrained(
            translator_of(tokenizer), tmp_path / "out", format=format, tokenizer=tokenizer
        )


def test_formats_places_and_tokenizers_are_checked_first(
    translator_of: Callable[..., Any], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    model = translator_of(tokenizer)
    with pytest.raises(ValueError, match="format must be one of marian, .*, got 'fairseq'"):
        export_pretrained(model, tmp_path / "out", format="fairseq", tokenizer=tokenizer)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a model needs a tokenizer"):
        export_pretrained(model, tmp_path / "out", format="huggingface")
    with pytest.raises(TypeError, match="a run has tokenizers of its own"):
        export_pretrained(tmp_path, tmp_path / "out", format="marian", tokenizer=tokenizer)
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(FileExistsError, match=r"holds no config\.json"):
        export_pretrained(
            model, tmp_path, format="huggingface", tokenizer=tokenizer, overwrite=True
        )


def test_a_failed_write_leaves_the_old_model(
    marian_model: Callable[..., Any],
    marian_tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: dict[str, Any] = {"format": "marian", "tokenizer": marian_tokenizer}
    model = marian_model()
    written = export_pretrained(model, tmp_path / "out", **given)
    before = {path.name: path.read_bytes() for path in written.iterdir()}

    def fail(*_: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(marian, "write_text", fail)
    with pytest.raises(OSError, match="the disk is full"):
        export_pretrained(model, tmp_path / "out", overwrite=True, **given)
    assert {path.name: path.read_bytes() for path in written.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
