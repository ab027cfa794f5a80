"""The formats of models that others trained: a directory's is recognised, and the model in
it read.
"""

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import CONFIG, MODEL
from keras_transformer.models.families import AnyModel
from keras_transformer.models.files.preset import existing_file, load_model
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.formats.ctranslate2 import is_ctranslate2, read_ctranslate2
from keras_transformer.pretrained.formats.marian import is_marian, read_marian
from keras_transformer.pretrained.formats.opennmt import is_opennmt, read_opennmt
from keras_transformer.pretrained.gguf.container import is_gguf
from keras_transformer.pretrained.gguf.model import find_gguf, read_gguf
from keras_transformer.pretrained.huggingface.bart_family import (
    BART,
    FSMT,
    M2M100,
    MARIAN,
    MBART,
    PEGASUS,
    read_bart_family,
)
from keras_transformer.pretrained.huggingface.bert_family import ENCODERS
from keras_transformer.pretrained.huggingface.decoders.chat import read_chat_template
from keras_transformer.pretrained.huggingface.decoders.gemma import GEMMAS
from keras_transformer.pretrained.huggingface.decoders.gpt2 import GPTS
from keras_transformer.pretrained.huggingface.decoders.granite import GRANITES
from keras_transformer.pretrained.huggingface.decoders.llama import LLAMAS
from keras_transformer.pretrained.huggingface.decoders.olmo import OLMOS
from keras_transformer.pretrained.huggingface.decoders.phi import PHIS
from keras_transformer.pretrained.huggingface.decoders.smollm import SMOLLMS
from keras_transformer.pretrained.huggingface.decoders.stablelm import STABLELMS
from keras_transformer.pretrained.huggingface.decoders.transfo_xl import TRANSFO_XLS
from keras_transformer.pretrained.huggingface.encoders.deberta import DEBERTAS
from keras_transformer.pretrained.huggingface.encoders.electra import ELECTRAS
from keras_transformer.pretrained.huggingface.encoders.modernbert import MODERNBERTS
from keras_transformer.pretrained.huggingface.encoders.nomic_bert import NOMIC_BERTS
from keras_transformer.pretrained.huggingface.encoders.xlnet import XLNETS
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.generation import left_out
from keras_transformer.pretrained.huggingface.single_stacks import SingleStack, read_single_stack
from keras_transformer.pretrained.huggingface.t5 import read_t5
from keras_transformer.pretrained.huggingface.t5gemma import read_t5gemma
from keras_transformer.pretrained.imported import Imported
from keras_transformer.pretrained.keras_hub.directory import as_huggingface
from keras_transformer.pretrained.keras_hub.preset import is_keras_hub
from keras_transformer.pretrained.sentence_transformers import encoder_folder
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.values import FileValues, read_json
from keras_transformer.suggestions import did_you_mean
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.tokenizer_files import load_tokenizers

SINGLE_STACKS: dict[str, SingleStack] = {
    **ENCODERS,
    **DEBERTAS,
    **ELECTRAS,
    **MODERNBERTS,
    **NOMIC_BERTS,
    **GPTS,
    **LLAMAS,
    **GEMMAS,
    **GRANITES,
    **OLMOS,
    **PHIS,
    **SMOLLMS,
    **STABLELMS,
    **TRANSFO_XLS,
    **XLNETS,
}
# The files by which formats are told, for messages.
RECOGNISED_BY = (
    "config.json (Hugging Face, keras-hub), model.bin (CTranslate2), .npz (Marian), .index "
    "(a checkpoint of OpenNMT-tf) or .gguf (GGUF)"
)
_LIST = "docs/import.md lists what can be imported"
# By `model_type` in the config of Hugging Face.
HUGGINGFACE: dict[str, Callable[..., Imported]] = {
    "bart": partial(read_bart_family, variant=BART),
    "marian": partial(read_bart_family, variant=MARIAN),
    "mbart": partial(read_bart_family, variant=MBART),
    "m2m_100": partial(read_bart_family, variant=M2M100),
    "fsmt": partial(read_bart_family, variant=FSMT),
    "pegasus": partial(read_bart_family, variant=PEGASUS),
    "t5": read_t5,
    "mt5": read_t5,
    "umt5": read_t5,
    "longt5": read_t5,
    "t5gemma": read_t5gemma,
    **{
        name: partial(read_single_stack, variant=variant) for name, variant in SINGLE_STACKS.items()
    },
}


def read_pretrained(directory: str | os.PathLike[str]) -> Imported:
    """Reads a model that another toolkit saved; nothing is ever downloaded.

    Args:
        directory: Where its config, weights and vocabularies are, or a GGUF file.

    Raises:
        FileNotFoundError: There is no such directory.
        ImportError: A package that the format needs is missing.
        ImportRefusedError: Its format is unknown, or a file of it cannot be imported.
    """
    path = Path(directory)
    if not path.is_dir() and not is_gguf(path):
        raise FileNotFoundError(
            f"{path} is not a directory: give the folder that holds the model's files, or a GGUF "
            "file. Nothing is downloaded."
        )
    if (path / MODEL).is_file():
        raise ImportRefusedError(
            f"{path} is a preset or a training run of this package: every command takes it as it "
            "is."
        )
    try:
        return _read_format(path)
    except ValueError as error:
        # What checks a config or makes a vocabulary knows of no files.
        if str(path) in str(error):
            raise
        raise ImportRefusedError(f"{path}: {error}") from error


def _read_format(path: Path) -> Imported:
    if is_gguf(path):
        return read_gguf(path)
    if is_ctranslate2(path):
        return read_ctranslate2(path)
    if is_keras_hub(path):
        with as_huggingface(path) as (translated, tensors):
            return _read_huggingface(translated, translated, tensors)
    folder = encoder_folder(path)
    if (folder / CONFIG).is_file():
        return _read_huggingface(folder, path)
    if is_marian(path):
        return read_marian(path)
    if is_opennmt(path):
        return read_opennmt(path)
    file = find_gguf(path)
    if file is not None:
        return read_gguf(file)
    raise ImportRefusedError(
        f"{path} holds no {RECOGNISED_BY}: give the folder that holds the model's files. {_LIST}."
    )


def from_pretrained(
    directory: str | os.PathLike[str], dtype_policy: str | None = None
) -> tuple[AnyModel, Tokenizer, Tokenizer]:
    """Reads a model of another toolkit: the Keras model and both tokenizers, as `load_run` does.

    Args:
        directory: Where its config, weights and vocabularies are, or a GGUF file. A preset or a
            training run of this package is read, too.
        dtype_policy: Keras dtype policy; if None the global one, or that of the preset or run.

    Raises:
        FileNotFoundError: There is no such directory, or a preset in it has no tokenizer.
        ImportRefusedError: Its format is unknown, or a file of it cannot be imported.

    Example:
        `model, source, target = from_pretrained("opus-mt-en-de")`
    """
    path = Path(directory)
    if (path / MODEL).is_file():
        tokenizers = load_tokenizers(path, partial(existing_file, path))
        return load_model(path, dtype_policy), *tokenizers
    imported = read_pretrained(directory)
    return imported.build(dtype_policy), *imported.tokenizers


def from_keras_hub(
    model: Any, dtype_policy: str | None = None, *, tokenizer: Any = None
) -> tuple[AnyModel, Tokenizer, Tokenizer]:
    """Reads a model of keras-hub: the Keras model and its tokenizer twice, as `from_pretrained`.

    Args:
        model: A task or a backbone of keras-hub, or the directory of a preset.
        dtype_policy: Keras dtype policy; the global one if None.
        tokenizer: The tokenizer of keras-hub, for a model without a preprocessor.

    Raises:
        FileNotFoundError: There is no such directory.
        ImportRefusedError: Its family is unknown, or it has no tokenizer.
        TypeError: It is neither.

    Example:
        `model, tokenizer, _ = from_keras_hub(keras_hub.models.GPT2CausalLM.from_preset("gpt2"))`
    """
    if isinstance(model, str | os.PathLike):
        return from_pretrained(model, dtype_policy)
    if not hasattr(model, "save_to_preset"):
        raise TypeError(
            "model must be a task or a backbone of keras-hub or the directory of a preset, got "
            f"{type(model).__name__}."
        )
    with tempfile.TemporaryDirectory() as preset:
        model.save_to_preset(preset)
        if tokenizer is not None:
            tokenizer.save_to_preset(preset)
        return from_pretrained(preset, dtype_policy)


def _read_huggingface(path: Path, root: Path, tensors: Tensors | None = None) -> Imported:
    file = path / CONFIG
    config = dict(FileValues(file, read_json(file)).values)
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in HUGGINGFACE:
        hint = did_you_mean(kind, HUGGINGFACE) or "."
        raise ImportRefusedError(f"{file} has model_type {kind!r}, which is unknown{hint} {_LIST}.")
    if kind in SINGLE_STACKS:
        imported = read_single_stack(path, config, SINGLE_STACKS[kind], root, tensors)
    else:
        imported = HUGGINGFACE[kind](path, config, *([] if tensors is None else [tensors]))
    if isinstance(imported.config, EncoderConfig):
        return imported
    if isinstance(imported.config, DecoderConfig):
        imported = replace(imported, chat=read_chat_template(path))
    untaken = left_out(path, Fields(file, config), imported.config.special_ids)
    return replace(imported, left_out=untaken)
