"""Writes a model as a directory that other engines' converters read: Hugging Face's config and
weights, and the vocabulary where its architecture can have a SentencePiece.
"""

import contextlib
import json
from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from keras_transformer.export.pretrained.huggingface.write import architecture_of
from keras_transformer.export.pretrained.outgoing import Outgoing


def write_hugging_face(model: Any, tokenizer: Any, directory: Path) -> None:
    """Writes `config.json`, `model.safetensors` and maybe a tokenizer's files.

    Args:
        model: A decoder or an encoder in float32.
        tokenizer: Its tokenizer.
        directory: A new directory.

    Raises:
        ValueError: No architecture has such a model.
    """
    outgoing = Outgoing(model, tokenizer, tokenizer)
    architecture = architecture_of(outgoing)
    directory.mkdir(parents=True)
    special = model.config.special_ids
    config = {
        "architectures": [architecture.form.name],
        "eos_token_id": special.eos,
        **architecture.config(outgoing),
        "dtype": "float32",
    }
    (directory / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    save_file(
        architecture.tensors(outgoing), directory / "model.safetensors", metadata={"format": "pt"}
    )
    with contextlib.suppress(ValueError):
        architecture.check(outgoing)
        architecture.save_tokenizer(outgoing, directory)
