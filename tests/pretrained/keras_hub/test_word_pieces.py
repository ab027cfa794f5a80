"""Words that keras-hub's WordPiece tokenizer splits texts into, for every character of Unicode: its
steps, `pretokenize`, by TensorFlow's operators against ours by `tokenizers`.
"""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tensorflow_text as tf_text
import tokenizers

from keras_transformer.pretrained.recognise import read_pretrained

PRESET = Path(__file__).parents[2] / "fixtures" / "keras_hub" / "bert.zip"
CHINESE = (
    r"[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2CEAF}\x{F900}-\x{FAFF}"
    r"\x{2F800}-\x{2FA1F}]"
)
SIGNS = rf"[!-/]|[:-@]|[\[-`]|[{{-~]|\p{{P}}|{CHINESE}"
# What docs/import.md says of characters that are read otherwise: folded as in no other script,
# newer than one of both tables of Unicode, or the end of a text there.
DIFFERENT = (
    "0000 0897 13A0-13FD 1B4E-1B4F 1B7F 1C80-1C88 A7CE-A7D4 A7F2-A7F4 AB69-ABBF 105C9-105E4 "
    "10780-107BF 10D69-10D6E 10EFC 113BB-113E2 1171E 11BE1 11F5A 1611E-1612F 16D6D-16D6F "
    "16EA0-16EB8 1CCD6-1CCF9 1E030-1E06D 1E5EE-1E5FF 1F16C 1FBF0-1FBF9"
)
# What stands for letters and signs that folding would split: no vocabulary has it.
REPLACED = "\ue000\u2e3b"


def theirs(texts: list[str], lowercase: bool, strip_accents: bool) -> list[list[bytes]]:
    """The words that keras-hub gives to WordPiece."""
    given = tf.strings.regex_replace(tf.constant(texts), CHINESE, r" \0 ")
    if strip_accents:
        given = tf_text.normalize_utf8(given, "NFD")
        given = tf.strings.regex_replace(given, r"\p{Mn}", "")
    words = tf_text.regex_split(given, rf"\s|\p{{Cc}}|\p{{Cf}}|{SIGNS}", SIGNS)
    found: list[list[bytes]] = (tf_text.case_fold_utf8(words) if lowercase else words).to_list()
    return [[word for word in row if word] for row in found]


def same(ours: list[str], theirs: list[bytes]) -> bool:
    """Whether words are equal, or none that a vocabulary has."""
    if len(ours) != len(theirs):
        return False
    return all(
        our == their or (set(our) & set(REPLACED) and (len(their) > 1 or their.isspace()))
        for our, their in zip(ours, map(bytes.decode, theirs), strict=True)
    )


@pytest.mark.parametrize(("lowercase", "strip_accents"), [(True, False), (True, True)])
@pytest.mark.parametrize(
    "codes",
    [range(0x3100), pytest.param(range(0x3100, 0x110000), marks=pytest.mark.exhaustive)],
    ids=["first", "others"],
)
def test_words_are_theirs(
    codes: range, lowercase: bool, strip_accents: bool, tmp_path: Path
) -> None:
    zipfile.ZipFile(PRESET).extractall(tmp_path)
    values = json.loads((tmp_path / "tokenizer.json").read_text())
    values["config"] |= {"lowercase": lowercase, "strip_accents": strip_accents}
    (tmp_path / "tokenizer.json").write_text(json.dumps(values))
    content = read_pretrained(tmp_path).tokenizers[0].model
    splitter: Any = tokenizers.Tokenizer.from_str(content.decode())
    ends = [[int(end, 16) for end in one.split("-")] for one in DIFFERENT.split()]
    known = {code for one in ends for code in range(one[0], one[-1] + 1)}
    compared = [one for one in codes if one not in known and not 0xD800 <= one < 0xE000]
    for form in ("a{}a", "{}"):
        texts = [form.format(chr(code)) for code in compared]
        for code, text, expected in zip(
            compared, texts, theirs(texts, lowercase, strip_accents), strict=True
        ):
            normal = splitter.normalizer.normalize_str(text)
            found = [word for word, _ in splitter.pre_tokenizer.pre_tokenize_str(normal)]
            assert same(found, expected), f"{code:04X} in {form}: {found}, {expected}"
