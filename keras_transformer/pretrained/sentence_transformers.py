"""How Sentence Transformers makes one vector of a text (Reimers and Gurevych 2019): takes a
directory of that library and returns our config of its encoder.
"""

import json
from pathlib import Path
from typing import Any

from keras_transformer.config.encoder_only import Pooling
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.languages import CONFIG, read_json

MODULES = "modules.json"
_POOLINGS: dict[str, Pooling] = {
    "mean": "mean",
    "mean_tokens": "mean",
    "cls": "first",
    "cls_token": "first",
}
_MODES = (
    *("mean_tokens", "cls_token", "max_tokens", "mean_sqrt_len_tokens"),
    *("weightedmean_tokens", "lasttoken"),
)
NORMALIZE = "Normalize"
# How that library reads texts, and what it may put before each of them.
READING = "sentence_bert_config.json"
_PROMPTS = "config_sentence_transformers.json"
_MODULES = ("Transformer", "Pooling", NORMALIZE)


def read_embedding(path: Path, max_positions: int | None) -> dict[str, Any]:
    """Returns fields of `EncoderConfig` that say how one vector is made; none if nothing does.

    Args:
        path: The directory.
        max_positions: Most tokens of a text that the model itself can read; None for any number.

    Raises:
        ImportRefusedError: A file is missing or damaged, or vectors are made in another way.
    """
    if not (path / MODULES).is_file():
        return {}
    listed = _read(path / MODULES)
    if not isinstance(listed, list) or not all("type" in one for one in listed):
        raise ImportRefusedError(f"{path / MODULES} holds no list of modules.")
    modules = {str(one["type"]).rpartition(".")[2]: str(one.get("path", "")) for one in listed}
    foreign = [name for name in modules if name not in _MODULES]
    if foreign or "Pooling" not in modules:
        raise ImportRefusedError(
            f"{path / MODULES} has {', '.join(foreign) or 'no Pooling'}, and {', '.join(_MODULES)} "
            "are supported: without this file the encoder alone is imported."
        )
    file = path / modules["Pooling"] / "config.json"
    values = _read(file)
    if not isinstance(values, dict):
        raise ImportRefusedError(f"{file} holds no pooling modes.")
    found = [mode for mode in _MODES if values.get(f"pooling_mode_{mode}") is True]
    if "pooling_mode" in values:
        found = [str(values["pooling_mode"])]
    if len(found) != 1 or found[0] not in _POOLINGS:
        raise ImportRefusedError(
            f"{file} has pooling modes {found}, and one of {list(_POOLINGS)} is supported."
        )
    return {
        "head": "embedding",
        "pooling": _POOLINGS[found[0]],
        "unit_vectors": NORMALIZE in modules,
        "max_row_length": _longest(path, max_positions),
    }


def _longest(path: Path, max_positions: int | None) -> int | None:
    """Returns where that library cuts texts, in tokens, special ones included.

    None if that is nowhere, or no sooner than the model's positions end.

    Raises:
        ImportRefusedError: The file is damaged, or texts are changed before they are tokenized.
    """
    file = path / READING
    values = _read(file) if file.is_file() else {}
    if not isinstance(values, dict) or not isinstance(values.get("max_seq_length"), int | None):
        raise ImportRefusedError(f"{file} holds no max_seq_length that is a number.")
    if values.get("do_lower_case"):
        raise ImportRefusedError(
            f"{file} has do_lower_case: true, which is not supported: set it to false and give "
            "texts in lower case, unless the tokenizer makes them so."
        )
    prompts = read_json(path / _PROMPTS)
    if (prompts.get("prompts") or {}).get(prompts.get("default_prompt_name")):
        raise ImportRefusedError(
            f"{path / _PROMPTS} puts the prompt {prompts['default_prompt_name']!r} before each "
            "text, which is not supported: set default_prompt_name to null and begin texts so."
        )
    told = values.get("max_seq_length") or read_json(path / CONFIG).get("model_max_length")
    if told is None or (max_positions is not None and told >= max_positions):
        return None
    return int(told)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ImportRefusedError(f"{path} cannot be read: {error}") from error
