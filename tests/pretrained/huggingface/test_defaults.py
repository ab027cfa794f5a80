"""A field that a config of Hugging Face lacks is what the config's class takes for it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.pretrained.imported import Imported
from keras_transformer.pretrained.recognise import read_pretrained

FIXTURES = Path(__file__).parents[2] / "fixtures"
# As `transformers` 5.24 has them: directory → fields of its config's class.
_BART = {
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "scale_embedding": False,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": 2,
}
_M2M100 = {
    **_BART,
    "attention_dropout": 0.1,
    "scale_embedding": True,
    "forced_eos_token_id": None,
}
_FSMT = {**_BART, "scale_embedding": True, "num_beams": 5, "max_length": 200}
_MARIAN = {**_BART, "decoder_start_token_id": "pad", "forced_eos_token_id": 0}
_T5 = {
    "feed_forward_proj": "relu",
    "dropout_rate": 0.1,
    "layer_norm_epsilon": 1e-6,
    "relative_attention_num_buckets": 32,
    "relative_attention_max_distance": 128,
    "tie_word_embeddings": True,
    "scale_decoder_outputs": True,
}
_MT5 = {**_T5, "feed_forward_proj": "gated-gelu", "decoder_start_token_id": 0}
_BERT = {
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "layer_norm_eps": 1e-12,
    "type_vocab_size": 2,
    "tie_word_embeddings": True,
    "problem_type": None,
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "bart": _BART,
    "mbart": {**_BART, "decoder_start_token_id": None},
    "m2m100": _M2M100,
    "nllb": _M2M100,
    "fsmt": _FSMT,
    "marian_huggingface": _MARIAN,
    "pegasus": {**_MARIAN, "forced_eos_token_id": 1},
    "t5": _T5,
    "mt5": _MT5,
    "umt5": _MT5,
    "longt5": {**_T5, "encoder_attention_type": "local"},
    "bert": _BERT,
    "bert_classes": {**_BERT, "id2label": {"0": "LABEL_0", "1": "LABEL_1"}},
    "roberta": {**_BERT, "pad_token_id": 1},
    "distilbert": {
        "activation": "gelu",
        "dropout": 0.1,
        "attention_dropout": 0.1,
        "tie_word_embeddings": True,
    },
    "gpt2": {
        "n_inner": None,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "resid_pdrop": 0.1,
        "attn_pdrop": 0.1,
        "tie_word_embeddings": True,
        "scale_attn_weights": True,
    },
    "transfo_xl": {
        "same_length": True,
        "untie_r": True,
        "pre_lnorm": False,
        "attn_type": 0,
        "dropout": 0.1,
        "dropatt": 0.0,
        "layer_norm_epsilon": 1e-5,
        "clamp_len": 1000,
    },
    "llama": {
        "bos_token_id": 1,
        "eos_token_id": 2,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "attention_dropout": 0.0,
        "tie_word_embeddings": False,
        "rope_parameters": {"rope_theta": 10_000.0, "rope_type": "default"},
    },
    "llama_sentencepiece": {"bos_token_id": 1, "eos_token_id": 2},
}


def read(name: str, directory: Path, field: str, value: Any = ...) -> Imported:
    """Reads a directory whose config has a value, or lacks the field if there is none."""
    room = "translators" if (FIXTURES / "translators" / name).is_dir() else "stacks"
    path = Path(shutil.copytree(FIXTURES / room / name, directory))
    # Old directories have one file for both.
    (path / "generation_config.json").unlink(missing_ok=True)
    file = path / "config.json"
    values = json.loads(file.read_text(encoding="utf-8"))
    values.pop(field, None)
    if value == "pad":
        value = values["pad_token_id"]
    file.write_text(json.dumps(values if value is ... else {**values, field: value}))
    return read_pretrained(path)


@pytest.mark.parametrize(
    ("name", "field", "default"),
    [(name, field, one) for name, fields in DEFAULTS.items() for field, one in fields.items()],
)
def test_a_missing_field_is_the_library_s_default(
    name: str, field: str, default: Any, tmp_path: Path
) -> None:
    missing = read(name, tmp_path / "missing", field)
    given = read(name, tmp_path / "given", field, default)
    assert missing.config == given.config
    assert missing.search == given.search
