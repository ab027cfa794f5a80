"""Chat templates are read wherever a tokenizer's files have them, and written back."""

import json
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.generation.chat_template import ChatTemplate
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.chat import (
    read_chat_template,
    write_chat_template,
)


def saved(path: Path, config: dict[str, Any], template: str | None = None) -> Path:
    (path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    if template is not None:
        (path / "chat_template.jinja").write_text(template, "utf-8")
    return path


def test_a_directory_without_one_has_none(tmp_path: Path) -> None:
    assert read_chat_template(tmp_path) is None
    assert read_chat_template(saved(tmp_path, {"bos_token": "<s>"})) is None


def test_tokens_go_with_it(tmp_path: Path) -> None:
    config = {"chat_template": "a", "bos_token": {"content": "<s>"}, "eos_token": "</s>"}
    wanted = ChatTemplate("a", {"bos_token": "<s>", "eos_token": "</s>"})
    assert read_chat_template(saved(tmp_path, config)) == wanted


def test_of_several_the_default_counts(tmp_path: Path) -> None:
    named = [{"name": "tool_use", "template": "a"}, {"name": "default", "template": "b"}]
    assert read_chat_template(saved(tmp_path, {"chat_template": named})) == ChatTemplate("b")
    with pytest.raises(ImportRefusedError, match="named tool_use, and none named default"):
        read_chat_template(saved(tmp_path, {"chat_template": named[:1]}))


def test_a_file_of_its_own_counts_before_the_config(tmp_path: Path) -> None:
    found = read_chat_template(saved(tmp_path, {"chat_template": "a"}, "b\n"))
    assert found == ChatTemplate("b\n")


@pytest.mark.parametrize("config", [{"chat_template": 1}, {"chat_template": [1]}])
def test_what_is_damaged_is_refused(config: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ImportRefusedError, match="chat_template"):
        read_chat_template(saved(tmp_path, config))


def test_it_comes_back(tmp_path: Path) -> None:
    chat = ChatTemplate("{{ bos_token }}é\n", {"bos_token": "<s>"})
    write_chat_template(chat, saved(tmp_path, {"model_max_length": 7}))
    assert read_chat_template(tmp_path) == chat
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["model_max_length"] == 7
