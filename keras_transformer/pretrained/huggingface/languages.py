"""The marks of languages in a tokenizer of Hugging Face: the id of each code."""

from pathlib import Path
from typing import Any

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.values import FileValues, read_json
from keras_transformer.text.subwords.interface import MOST_IDS

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
        for place, name in enumerate(_listed(path)):
            found.setdefault(name, first_id + place)
    if not found:
        raise ImportRefusedError(
            f"{path} does not say which languages its tokens stand for: {_TOKENIZER}, {CONFIG} or "
            f"{_SPECIAL} must list them."
        )
    return found


def tokens_with_ids(path: Path) -> dict[str, int]:
    """Returns the tokens beside the vocabulary whose ids a tokenizer's files say."""
    added = read_values(path / _ADDED)
    found = {name: added.integer(name, most=MOST_IDS) for name in added.values}
    whole = read_values(path / _TOKENIZER)
    for token in whole.sequence("added_tokens", []):
        one = FileValues(f"{whole.origin}: one of added_tokens", token)
        found[one.text("content")] = one.integer("id", most=MOST_IDS)
    numbered = read_values(path / CONFIG).mapping("added_tokens_decoder", None)
    for number in () if numbered is None else numbered.values:
        if not number.isdecimal():
            raise ImportRefusedError(f"{numbered.origin} has {number!r}, which is no id.")
        found[numbered.mapping(number).text("content")] = int(number)
    return found


def _listed(path: Path) -> list[str]:
    """Returns further tokens that files list in the order of their ids."""
    config = read_values(path / CONFIG)
    for source in (read_values(path / _SPECIAL), config):
        for name in ("additional_special_tokens", "extra_special_tokens"):
            if source.get(name, None):
                where = f"{source.origin}: one of {name}"
                return [
                    one if isinstance(one, str) else FileValues(where, one).text("content")
                    for one in source.sequence(name)
                ]
    if config.get("language_codes", None) == "m2m100":
        return [f"__{code}__" for code in _M2M100.split()]
    if config.text("tokenizer_class", "").startswith("MBartTokenizer"):
        return _MBART.split()
    return []


def read_values(path: Path) -> FileValues:
    """Reads a JSON file if it is there; without values if not.

    Raises:
        ImportRefusedError: It is no JSON object.
    """
    return FileValues(path, read_json(path) if path.is_file() else {})


def read_object(path: Path) -> dict[str, Any]:
    """As `read_values`, for what is not read value by value."""
    return dict(read_values(path).values)
