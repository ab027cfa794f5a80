"""Writes a model as a directory that Hugging Face transformers loads with `from_pretrained`."""

from pathlib import Path
from typing import Any

from keras_transformer.distribution import install_command
from keras_transformer.pretrained.huggingface.generation import GENERATION, write_search
from keras_transformer.pretrained.tensor_files import SAFETENSORS
from keras_transformer.whole_files import whole_file

from ..forms import check_has_two_stacks, form_of
from ..outgoing import Outgoing
from .architecture import Architecture
from .t5 import T5
from .translators import MARIAN, PEGASUS
from .vocabularies import write_json

CONFIG = "config.json"
ARCHITECTURES: dict[str, Architecture] = {one.form.name: one for one in (MARIAN, PEGASUS, T5)}


def check(outgoing: Outgoing) -> None:
    """Raises a ValueError that names what no architecture has.

    Raises:
        ImportError: The package that writes weights is not installed.
    """
    architecture = _architecture(outgoing)
    outgoing.check_sentencepiece("huggingface")
    architecture.check(outgoing)
    _save_file()


def write(outgoing: Outgoing, directory: Path) -> None:
    """Writes the files of the architecture that the model has."""
    architecture = _architecture(outgoing)
    config = {
        "architectures": [architecture.form.name],
        **architecture.config(outgoing),
        **_special_ids(outgoing),
        "dtype": "float32",
    }
    write_json(directory / CONFIG, config)
    write_json(directory / GENERATION, _generation(outgoing))
    architecture.save_tokenizer(outgoing, directory)
    tensors = architecture.tensors(outgoing)
    with whole_file(directory / SAFETENSORS) as partial:
        _save_file()(tensors, str(partial), metadata={"format": "pt"})


def _architecture(outgoing: Outgoing) -> Architecture:
    check_has_two_stacks(outgoing.config, "huggingface")
    form = form_of(outgoing.config, [one.form for one in ARCHITECTURES.values()])
    return ARCHITECTURES[form.name]


def _special_ids(outgoing: Outgoing) -> dict[str, Any]:
    special = outgoing.config.special_ids
    return {
        "pad_token_id": special.pad,
        "bos_token_id": special.bos,
        "eos_token_id": special.eos,
        "decoder_start_token_id": special.decoder_start,
    }


def _generation(outgoing: Outgoing) -> dict[str, Any]:
    search = write_search(outgoing.search)
    never = [[token] for token in sorted(outgoing.config.special_ids.never_generated)]
    banned = [*never, *search.pop("bad_words_ids", [])]
    return {**_special_ids(outgoing), "bad_words_ids": banned, **search}


def _save_file() -> Any:
    try:
        from safetensors.numpy import save_file
    except ImportError as error:
        raise ImportError(
            f"--format huggingface needs the safetensors package: {install_command('import')}"
        ) from error
    return save_file
