"""Reads encoders and decoders alone of Hugging Face; what an architecture is stands in the file of
its family.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from keras_transformer.config import SpecialIds
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.pretrained.cross_encoders import is_cross_encoder, read_cross_encoder
from keras_transformer.pretrained.formats.packed_weights import CONFIG as PACKED
from keras_transformer.pretrained.formats.packed_weights import unpack_weights
from keras_transformer.pretrained.huggingface.encoder_vocabulary import read_pair_separators
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.generation import read_decoder_search
from keras_transformer.pretrained.huggingface.json_vocabulary import starts_prompts
from keras_transformer.pretrained.imported import Imported
from keras_transformer.pretrained.sentence_transformers import read_embedding
from keras_transformer.pretrained.tensor_files import Tensors, open_huggingface
from keras_transformer.pretrained.values import FileValues
from keras_transformer.pretrained.weight_table import Entry
from keras_transformer.text.tokenizer import Tokenizer

# How the names of the weights of heads for pretraining begin.
_HEADS_OF_PRETRAINING = ("cls.", "lm_head.", "vocab_")


@dataclass(frozen=True)
class SingleStack:
    """An architecture with one stack.

    Attributes:
        config: Takes fields, special ids and tensors and returns the config.
        table: Takes a model and the tensors and returns the weights' entries.
        unread: Beginnings and endings of names of tensors that say nothing that the others do not.
        unused: Beginnings and endings of names of weights that no part of the model reads.
        vocabulary: Takes the directory and its fields and returns the tokenizer.
        search: Takes the directory, its fields and the special ids and returns how it searches.
        defaults: What their library takes for fields that a config lacks.
        part: The field of a config that holds the stack's own fields, beside those of others;
            empty if all are its own.
        rename: Takes a tensor's name and returns that of the stack alone.
        adapt: Takes fields and the weights' entries and returns these as the config says.
    """

    config: Callable[..., Any]
    table: Callable[[Any, Tensors], Iterable[Entry]]
    unread: tuple[str, ...]
    vocabulary: Callable[[Path, Fields], Tokenizer]
    search: Callable[[Path, Fields, SpecialIds], dict[str, Any]] = read_decoder_search
    defaults: Mapping[str, Any] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    part: str = ""
    rename: Callable[[str], str] = str
    adapt: Callable[[Fields, Iterable[Entry]], Iterable[Entry]] = lambda _, entries: entries


def read_single_stack(
    path: Path,
    values: dict[str, Any],
    variant: SingleStack,
    root: Path | None = None,
    tensors: Tensors | None = None,
) -> Imported:
    """Reads a directory.

    Args:
        path: Where config, weights and vocabulary are.
        values: The config.
        variant: The architecture.
        root: The directory of Sentence Transformers of which `path` is a part; `path` if None.
        tensors: The weights; those of the directory if None.

    Raises:
        ImportRefusedError: A file is missing or damaged, or the config has a value that is not
            supported.
    """
    file = path / "config.json"
    own = FileValues(file, values).mapping(variant.part).values if variant.part else {}
    fields = Fields(file, {**variant.defaults, **values, **own})
    tensors = (open_huggingface(path) if tensors is None else tensors).renamed(variant.rename)
    empty: tuple[str, ...] = ()
    if fields.get(PACKED, None) is not None:
        tensors, empty = unpack_weights(tensors, fields.mapping(PACKED))
    tokenizer = variant.vocabulary(path, fields)
    config = variant.config(fields, tokenizer.special_ids, tensors)
    unused = variant.unused
    if isinstance(config, EncoderConfig):
        embedding, top = None, root or path
        if not is_cross_encoder(top):
            embedding = read_embedding(top, path, config.longest_row)
        if embedding is None and config.head == "regression":
            config = replace(config, **read_cross_encoder(top, fields, config.longest_row))
        if embedding is not None:
            # Some of them name the architecture that they were pretrained as.
            config = replace(config, labels=(), multi_label=False, **embedding.fields)
            tensors = tensors.joined(embedding.tensors)
            unused = (*unused, *_HEADS_OF_PRETRAINING)
        config = replace(
            config,
            keep_pooler=config.pooler and not config.reads_pooler,
            pair_separators=read_pair_separators(path, fields),
        )
    else:
        config = replace(config, starts_prompts=starts_prompts(path))
    return Imported(
        values["model_type"],
        config,
        lambda model: list(variant.adapt(fields, variant.table(model, tensors))),
        tensors,
        (tokenizer, tokenizer),
        unread=(*variant.unread, *empty),
        unused=unused,
        search=variant.search(path, fields, tokenizer.special_ids),
    )
