"""T5Gemma (Zhang et al. 2025): an encoder-decoder of Gemma 2's blocks. The encoder's windows reach
to both sides; the decoder's blocks attend to the encoder between their other two parts.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from keras_transformer.config.block_options import BlockOptions
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.gemma import (
    GEMMAS,
    OnePlus,
    gemma2_config,
    scaled_queries,
)
from keras_transformer.pretrained.huggingface.decoders.llama import changed
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.json_vocabulary import starts_prompts
from keras_transformer.pretrained.huggingface.languages import CONFIG, read_object
from keras_transformer.pretrained.huggingface.llama_vocabulary import llama_vocabulary
from keras_transformer.pretrained.huggingface.vocabularies import vocabularies_of
from keras_transformer.pretrained.imported import Imported
from keras_transformer.pretrained.tensor_files import Tensors, open_huggingface
from keras_transformer.pretrained.values import FileValues
from keras_transformer.pretrained.weight_table import Entry, linear

_HEAD = "lm_head.out_proj.weight"
_SIDES = ("encoder", "decoder")
_PARTS = {"own": "self_attn", "source": "cross_attn", None: "feedforward"}


def read_t5gemma(path: Path, values: dict[str, Any]) -> Imported:
    """Reads a directory.

    Raises:
        ImportRefusedError: A file is missing or damaged, or the config has a value that is not
            supported.
    """
    file = path / "config.json"
    given = FileValues(file, values)
    encoder, decoder = (
        Fields(file, {**GEMMAS["gemma2"].defaults, **values, **given.mapping(side).values})
        for side in _SIDES
    )
    # A translation begins with what texts begin with, unless the config names another token.
    start = decoder.integer("decoder_start_token_id", decoder["bos_token_id"])
    fields = changed(decoder, decoder_start_token_id=start)
    tokenizer = llama_vocabulary(path, fields)
    vocabularies = vocabularies_of(fields, tokenizer, tokenizer)
    tensors = open_huggingface(path)
    config = _config(encoder, decoder, vocabularies.special_ids, tensors)
    marks = SentenceMarks(
        source=(start,) if starts_prompts(path) else (),
        source_eos=read_object(path / CONFIG).get("add_eos_token") is True,
    )
    return Imported(
        values["model_type"],
        replace(config, marks=marks),
        lambda model: [
            *ends_table(model),
            *scaled_queries(encoder, blocks_table(model.encoder_stack, "encoder")),
            *scaled_queries(decoder, blocks_table(model.decoder_stack, "decoder")),
        ],
        tensors,
        vocabularies.tokenizers,
        unread=(_HEAD,) if config.share_embeddings == "target" else (),
        search=vocabularies.search,
    )


def _config(
    encoder: Fields, decoder: Fields, special_ids: Any, tensors: Tensors
) -> TransformerConfig:
    """Returns the config of two stacks, which may differ by number and windows of their blocks."""
    stacks = [
        gemma2_config(changed(fields, tie_word_embeddings=False), special_ids, tensors)
        for fields in (encoder, decoder)
    ]
    _check_alike(decoder, *stacks)
    read, written = stacks
    names = [field.name for field in dataclasses.fields(BlockOptions)]
    return TransformerConfig(
        **{name: getattr(written, name) for name in names},
        source_vocab_size=read.vocab_size,
        target_vocab_size=written.vocab_size,
        num_encoder_layers=read.num_layers,
        num_decoder_layers=written.num_layers,
        # Theirs count a window's places on either side, without the query's own.
        encoder_pattern=tuple(
            {"window": own["window"] + 1} if own else {} for own in read.block_pattern
        ),
        positions="none",
        share_embeddings="target" if decoder.flag("tie_word_embeddings", True) else "none",
        final_logit_soft_cap=written.final_logit_soft_cap,
        special_ids=special_ids,
    )


def _check_alike(fields: Fields, encoder: DecoderConfig, decoder: DecoderConfig) -> None:
    for field in dataclasses.fields(BlockOptions):
        one, other = (getattr(config, field.name) for config in (encoder, decoder))
        if field.name != "block_pattern" and one != other:
            raise ImportRefusedError(
                f"{fields.path} describes an encoder with {field.name}={one!r} and a decoder with "
                f"{other!r}: both must be the same here."
            )


def ends_table(model: Any) -> Iterator[Entry]:
    """Yields the entries of embeddings and head."""
    for side, embeddings in zip(
        _SIDES, (model.source_embeddings, model.target_embeddings), strict=True
    ):
        yield Entry(embeddings.tokens.matrix, f"model.{side}.embed_tokens.weight")
    if model.head.linear is not None:
        yield Entry(model.head.linear.kernel, _HEAD, transposed=True)


def blocks_table(stack: Any, side: str) -> Iterator[Entry]:
    """Yields the entries of a stack's blocks and of the norm behind them."""
    for number, block in enumerate(stack.blocks):
        here = f"model.{side}.layers.{number}"
        for part in block.sub_layers:
            name = _PARTS[part.attends_to]
            norms = part.residual.layer_norm, part.residual.output_norm
            for when, layer in zip(("pre", "post"), norms, strict=True):
                yield OnePlus(layer.gamma, f"{here}.{when}_{name}_layernorm.weight")
            names = [f"mlp.{one}_proj" for one in ("gate", "up", "down")]
            if part.attends_to is not None:
                names = [f"{name}.{one}_proj" for one in "qkvo"]
            for one, layer in zip(names, part.layer.linear_layers, strict=True):
                yield from linear(layer, f"{here}.{one}")
    yield OnePlus(stack.final_norm.gamma, f"model.{side}.norm.weight")
