"""The chat template that a model of Hugging Face is saved with."""

import json
from pathlib import Path

from keras_transformer.generation.chat_template import ChatTemplate
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.languages import CONFIG, read_values
from keras_transformer.pretrained.values import FileValues, read_text
from keras_transformer.whole_files import write_text

FILE = "chat_template.jinja"
# Beside the newer file, or in place of it: one template, or several with names.
_FIELD, _DEFAULT = "chat_template", "default"
_TOKENS = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")


def read_chat_template(path: Path) -> ChatTemplate | None:
    """Returns the template of chats without tools; None if a directory has none.

    Raises:
        ImportRefusedError: A file is damaged, or its templates have names of which none is
            "default".
    """
    config = read_values(path / CONFIG)
    template = read_text(path / FILE) if (path / FILE).is_file() else _listed(config)
    if template is None:
        return None
    beside = read_values(path / "special_tokens_map.json")
    tokens = {}
    for name in (f"{role}_token" for role in _TOKENS):
        token = config.get(name, beside.get(name, None))
        if token is not None:
            tokens[name] = _content(config, name, token)
    return ChatTemplate(template, tokens)


def write_chat_template(chat: ChatTemplate, path: Path) -> None:
    """Writes a template and its tokens beside a tokenizer's files."""
    write_text(path / FILE, chat.template)
    config = {**read_values(path / CONFIG).values, **chat.tokens}
    write_text(path / CONFIG, json.dumps(config, ensure_ascii=False, indent=2) + "\n")


def _listed(config: FileValues) -> str | None:
    found = config.get(_FIELD, None)
    if not isinstance(found, list):
        return config.text(_FIELD, None)
    named = [FileValues(f"{config.origin}: one of {_FIELD}", one) for one in found]
    templates = {one.text("name"): one.text("template") for one in named}
    if _DEFAULT not in templates:
        raise ImportRefusedError(
            f"{config.origin} has chat templates named {', '.join(templates)}, and none named "
            f"{_DEFAULT}: name the one that chats without tools need so, or take {_FIELD} out."
        )
    return templates[_DEFAULT]


def _content(config: FileValues, name: str, token: object) -> str:
    if isinstance(token, str):
        return token
    return str(FileValues(f"{config.origin}: {name}", token).text("content"))
