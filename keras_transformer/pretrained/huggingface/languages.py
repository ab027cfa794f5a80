"""The marks of languages in a tokenizer of Hugging Face: takes a directory and returns which id
stands for which code.
"""

import json
from pathlib import Path
from typing import Any

from keras_transformer.pretrained.errors import ImportRefusedError

_TOKENIZER = "tokenizer.json"
CONFIG = "tokenizer_config.json"
# Of older files.
_ADDED = "added_tokens.json"
_SPECIAL = "special_tokens_map.json"
# The languages of mBART (Liu et al. 2020), and of M2M100 (Fan et al. 2020), which some files of
# theirs do not list.
_MBART = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT "
    "lv_LV my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
)
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
    found = tokens_with_ids(path)
    if first_id is not None:
        for place, name in enumerate(_listed(path, read_json(path / CONFIG))):
            found.setdefault(name, first_id + place)
    if not found:
        raise ImportRefusedError(
            f"{path} does not say which languages its tokens stand for: {_TOKENIZER}, {CONFIG} or "
            f"{_SPECIAL} must list them."
        )
    return found


def tokens_with_ids(path: Path) -> dict[str, int]:
    """Returns the tokens beside the vocabulary whose ids a tokenizer's files say."""
    whole, config = read_json(path / _TOKENIZER), read_json(path / CONFIG)
    found = {str(token): int(number) for token, number in read_json(path / _ADDED).items()}
    found |= {str(token["content"]): int(token["id"]) for token in whole.get("added_tokens", ())}
    for number, token in config.get("added_tokens_decoder", {}).items():
        found[str(token["content"])] = int(number)
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
    if str(config.get("tokenizer_class", "")).startswith("MBartTokenizer"):
        return _MBART.split()
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
