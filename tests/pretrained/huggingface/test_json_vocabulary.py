"""Whether a decoder's files put a token before a prompt, as they say it."""

import json
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.pretrained.huggingface.json_vocabulary import starts_prompts

START = {"SpecialToken": {"id": "<s>", "type_id": 0}}
TEXT = {"Sequence": {"id": "A", "type_id": 0}}


def template(*single: Any) -> dict[str, Any]:
    return {"type": "TemplateProcessing", "single": list(single)}


@pytest.mark.parametrize(
    ("step", "starts"),
    [
        (None, False),
        (template(START, TEXT), True),
        (template(TEXT, START), False),
        ({"type": "Sequence", "processors": [{"type": "ByteLevel"}, template(START, TEXT)]}, True),
        ({"type": "RobertaProcessing"}, True),
        ({"type": "Sequence", "processors": 3}, False),
        (template(), False),
        ([3], False),
    ],
)
def test_the_template_of_a_tokenizer_says_it(step: Any, starts: bool, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps({"post_processor": step}))
    assert starts_prompts(tmp_path) == starts
    for told in (True, False):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"add_bos_token": told}))
        assert starts_prompts(tmp_path) == told


def test_of_files_that_say_nothing_only_those_of_sentencepiece_do(tmp_path: Path) -> None:
    assert not starts_prompts(tmp_path)
    (tmp_path / "tokenizer.model").touch()
    assert starts_prompts(tmp_path)
