"""How Sentence Transformers makes one vector of a text (Reimers and Gurevych 2019): takes a
directory of that library and returns our config of its encoder.
"""

import json
from pathlib import Path
from typing import Any

from keras_transformer.config.encoder_only import Pooling
from keras_transformer.pretrained.errors import ImportRefusedError

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
_MODULES = ("Transformer", "Pooling", NORMALIZE)


def read_embedding(path: Path) -> dict[str, Any]:
    """Returns fields of `EncoderConfig` that say how one vector is made; none if nothing does.

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
    is_unit = NORMALIZE in modules
    return {"head": "embedding", "pooling": _POOLINGS[found[0]], "unit_vectors": is_unit}


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ImportRefusedError(f"{path} cannot be read: {error}") from error
