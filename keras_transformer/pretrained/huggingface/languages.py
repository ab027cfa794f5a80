"""The marks of languages in a tokenizer of Hugging Face: takes a directory and returns which id
stands for which code.
"""

import json
from pathlib import Path
from typing import Any

from keras_transformer.pretrained.errors import ImportRefusedError

_TOKENIZER = "tokenizer.json"
_CONFIG = "tokenizer_config.json"
_SPECIAL = "special_tokens_map.json"


def added_tokens(path: Path, first_id: int | None = None) -> dict[str, int]:
    """Returns the tokens that a tokenizer has beside its vocabulary, with their ids.

    Args:
        path: The directory.
        first_id: The id of the first further token, where files only list them; None if they
            must say the ids.

    Raises:
        ImportRefusedError: No file lists them, or a file is damaged.
    """
    whole = read_json(path / _TOKENIZER)
    if "added_tokens" in whole:
        return {str(token["content"]): int(token["id"]) for token in whole["added_tokens"]}
    config = read_json(path / _CONFIG)
    if config.get("added_tokens_decoder"):
        decoder = config["added_tokens_decoder"]
        return {str(token["content"]): int(number) for number, token in decoder.items()}
    for source in (read_json(path / _SPECIAL), config):
        for name in ("additional_special_tokens", "extra_special_tokens"):
            listed = source.get(name)
            if listed and first_id is not None:
                names = [one if isinstance(one, str) else str(one["content"]) for one in listed]
                return {name: first_id + place for place, name in enumerate(names)}
    raise ImportRefusedError(
        f"{path} does not say which languages its tokens stand for: {_TOKENIZER}, {_CONFIG} or "
        f"{_SPECIAL} must list them."
    )


def read_json(path: Path) -> dict[str, Any]:
    """Reads a file if it is there; {} if not.

    Raises:
        ImportRefusedError: It is no JSON object.
    """
    if not path.is_file():
        return {}
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ImportRefusedError(f"{path} is no JSON: {error}") from error
    if not isinstance(values, dict):
        raise ImportRefusedError(f"{path} holds no JSON object.")
    return values
