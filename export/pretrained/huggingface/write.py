"""Writes a model as a directory that Hugging Face transformers loads with `from_pretrained`."""

from pathlib import Path
from typing import Any

from keras_transformer.config import TransformerConfig
from keras_transformer.distribution import install_command
from keras_transformer.export.pretrained.forms import form_of
from keras_transformer.export.pretrained.huggingface.architecture import Architecture
from keras_transformer.export.pretrained.huggingface.decoders.gemma import GEMMAS
from keras_transformer.export.pretrained.huggingface.decoders.llama import DECODERS
from keras_transformer.export.pretrained.huggingface.decoders.llama_family import LLAMA_FAMILY
from keras_transformer.export.pretrained.huggingface.encoders.bert_family import (
    ALBERT,
    BERT,
    DISTILBERT,
    MPNET,
    ROBERTA,
    XLNET,
)
from keras_transformer.export.pretrained.huggingface.encoders.deberta import DEBERTA
from keras_transformer.export.pretrained.huggingface.encoders.electra import ELECTRA
from keras_transformer.export.pretrained.huggingface.encoders.modernbert import MODERNBERT
from keras_transformer.export.pretrained.huggingface.encoders.nomic_bert import NOMIC_BERT
from keras_transformer.export.pretrained.huggingface.fairseq import BART, M2M100, MBART
from keras_transformer.export.pretrained.huggingface.fsmt import FSMT
from keras_transformer.export.pretrained.huggingface.t5 import T5S
from keras_transformer.export.pretrained.huggingface.t5gemma import T5GEMMA
from keras_transformer.export.pretrained.huggingface.translators import MARIAN, PEGASUS
from keras_transformer.export.pretrained.huggingface.vocabularies import write_json
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.decoders.chat import write_chat_template
from keras_transformer.pretrained.huggingface.generation import GENERATION, write_search
from keras_transformer.pretrained.tensor_files import SAFETENSORS
from keras_transformer.whole_files import whole_file

CONFIG = "config.json"
_TRANSLATORS = (MARIAN, PEGASUS, *T5S, T5GEMMA, BART, MBART, M2M100, FSMT)
_BERTS = (DISTILBERT, BERT, ROBERTA, MPNET, ALBERT, ELECTRA)
_ENCODERS = (*_BERTS, MODERNBERT, NOMIC_BERT, XLNET, DEBERTA)
_DECODERS = (*DECODERS, *LLAMA_FAMILY, *GEMMAS)
ARCHITECTURES = (*_TRANSLATORS, *_ENCODERS, *_DECODERS)


def check(outgoing: Outgoing) -> None:
    """Raises a ValueError that names options that no architecture has.

    Raises:
        ImportError: The package that writes weights is not installed.
    """
    architecture = architecture_of(outgoing)
    architecture.check(outgoing)
    architecture.check_files(outgoing, architecture.form.name)
    _save_file()


def write(outgoing: Outgoing, directory: Path) -> None:
    """Writes the files of the architecture that the model has."""
    architecture, config = architecture_of(outgoing), config_of(outgoing)
    write_json(directory / CONFIG, config)
    write_json(directory / GENERATION, _generation(outgoing, config))
    architecture.save_tokenizer(outgoing, directory)
    if outgoing.chat is not None:
        write_chat_template(outgoing.chat, directory)
    tensors = {**outgoing.unused, **architecture.tensors(outgoing)}
    with whole_file(directory / SAFETENSORS) as partial:
        _save_file()(tensors, str(partial), metadata={"format": "pt"})


def config_of(outgoing: Outgoing) -> dict[str, Any]:
    """Returns the values of `config.json`."""
    architecture = architecture_of(outgoing)
    return {
        "architectures": [architecture.form.name],
        **_special_ids(outgoing),
        **architecture.config(outgoing),
        "dtype": "float32",
    }


def architecture_of(outgoing: Outgoing) -> Architecture:
    """Returns the architecture that holds a model.

    Raises:
        ValueError: None does; the message says what the nearest architecture needs.
    """
    families = {"encoder": _ENCODERS, "decoder": _DECODERS}
    known: Any = families.get(outgoing.config.to_dict().get("family", ""), _TRANSLATORS)
    form = form_of(outgoing.config, [one.form for one in known])
    return next(one for one in known if one.form is form)


def _special_ids(outgoing: Outgoing) -> dict[str, Any]:
    special = outgoing.config.special_ids
    return {
        "pad_token_id": special.pad,
        "bos_token_id": special.bos,
        "eos_token_id": special.eos,
        "decoder_start_token_id": special.decoder_start,
    }


def _generation(outgoing: Outgoing, config: dict[str, Any]) -> dict[str, Any]:
    search = write_search(outgoing.search, _forced(outgoing))
    never = [[token] for token in sorted(outgoing.config.special_ids.never_generated)]
    banned = [*never, *search.pop("bad_words_ids", [])]
    if not isinstance(outgoing.config, TransformerConfig):
        # Theirs may have no padding, which no search of theirs then needs to be kept from.
        banned = [row for row in banned if max(row) < config["vocab_size"]]
    ids = {name: config[name] for name in _special_ids(outgoing)}
    if outgoing.search.get("stop_tokens"):
        ids["eos_token_id"] = [ids["eos_token_id"], *outgoing.search["stop_tokens"]]
    return {**ids, **({"bad_words_ids": banned} if banned else {}), **search}


def _forced(outgoing: Outgoing) -> tuple[int, ...]:
    """Returns the mark that their search forces at the beginning of a translation."""
    marks = getattr(outgoing.config, "marks", None)
    if marks is None or marks.languages_in == "ends":
        return ()
    if marks.languages and marks.languages_in == "both" and marks.target_language is not None:
        return (marks.languages[marks.target_language],)
    return marks.target


def _save_file() -> Any:
    try:
        from safetensors.numpy import save_file
    except ImportError as error:
        raise ImportError(
            f"--format huggingface needs the safetensors package: {install_command('import')}"
        ) from error
    return save_file
