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
# The languages of M2M100 (Fan et al. 2020), which newer files of it do not list.
_M2M100 = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl "
    "gu ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml "
    "mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th "
    "tl tn tr uk ur uz vi wo xh yi yo zh zu"
)


def added_tokens(path: Path, first_id: int | None = None) -> dict[str, int]:
    """Returns the tokens that a tokenizer has beside its vocabulary, with their ids.

    Args:
        path: The directory.
        first_id: The id of the first further token, where files only list them; None if they
            must say the ids.

    Raises:
        ImportRefusedError: No file lists them, or a file is damaged.
    """
    whole, config = read_json(path / _TOKENIZER), read_json(path / _CONFIG)
    found = {str(token["content"]): int(token["id"]) for token in whole.get("added_tokens", ())}
    for number, token in config.get("added_tokens_decoder", {}).items():
        found[str(token["content"])] = int(number)
    if first_id is not None:
        for place, name in enumerate(_listed(path, config)):
            found.setdefault(name, first_id + place)
    if not found:
        raise ImportRefusedError(
            f"{path} does not say which languages its tokens stand for: {_TOKENIZER}, {_CONFIG} or "
            f"{_SPECIAL} must list them."
        )
    return found


def _listed(path: Path, config: dict[str, Any]) -> list[str]:
    """Returns further tokens that files list in the order of their ids."""
    for source in (read_json(path / _SPECIAL), config):
        for name in ("additional_special_tokens", "extra_special_tokens"):
            if source.get(name):
                return [
                    one if isinstance(one, str) else str(one["content"]) for one in source[name]
                ]
    if config.get("language_codes") == "m2m100":
        return [f"__{code}__" for code in _M2M100.split()]
    return []


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
