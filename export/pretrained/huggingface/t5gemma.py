"""Encoder-decoders of Gemma 2's blocks as Hugging Face's T5Gemma."""

from pathlib import Path
from typing import Any

from keras_transformer.export.pretrained.forms import ModelForm
from keras_transformer.export.pretrained.huggingface.architecture import Architecture
from keras_transformer.export.pretrained.huggingface.decoders.gemma import gemma2_blocks
from keras_transformer.export.pretrained.huggingface.decoders.llama import block_fields
from keras_transformer.export.pretrained.huggingface.vocabularies import save_llama_tokenizer
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.t5gemma import blocks_table, ends_table
from keras_transformer.pretrained.weight_table import Array, dump_weights

_NAME = "T5GemmaForConditionalGeneration"
_FORM = ModelForm(
    _NAME,
    {
        "activation": ("gelu_tanh",),
        "attention_soft_cap": None,
        "block_pattern": None,
        "encoder_pattern": None,
        "final_logit_soft_cap": None,
        "gated_feed_forward": (True,),
        "key_dim": None,
        "layer_norm_epsilon": None,
        "marks": None,
        "norm": ("both",),
        "norm_kind": ("rms_norm",),
        "num_key_value_heads": None,
        "positions": ("none",),
        "rotary_base": None,
        "rotary_scaling": None,
        "scale_embeddings": (True,),
        "share_embeddings": ("target", "none"),
        "use_bias": (False,),
    },
)


def _check(outgoing: Outgoing) -> None:
    config, marks = outgoing.config, outgoing.config.marks
    outgoing.check_sentencepiece("huggingface")
    if outgoing.source.model != outgoing.target.model:
        raise ValueError(f"{_NAME} needs one vocabulary for both sides, but these differ.")
    if config.rotary_base is None:
        raise ValueError(f"{_NAME} needs a rotary_base, such as 10000.0, got None.")
    start = config.special_ids.decoder_start
    if marks.source not in ((), (start,)) or marks.target or marks.languages:
        raise ValueError(
            f"{_NAME} needs no marks but the token {start} before sources, got {marks!r}."
        )
    _config(outgoing)


def _config(outgoing: Outgoing) -> dict[str, Any]:
    config = outgoing.config
    decoder = gemma2_blocks(config, config.decoder.layers, _NAME, attends_source=True)
    encoder = gemma2_blocks(config, config.encoder.layers, _NAME)
    if any(block.own.window == 1 for block in config.encoder.layers):
        raise ValueError(f"{_NAME} needs windows of 2 places or more in the encoder, got 1.")
    # Theirs count a window's places on either side, without the query's own.
    encoder["sliding_window"] = max(1, encoder["sliding_window"] - 1)
    special = config.special_ids
    both = {
        **block_fields(config),
        "dropout_rate": config.dropout,
        "pad_token_id": special.pad,
        "bos_token_id": special.bos,
        "eos_token_id": special.eos,
    }
    sizes = (
        (encoder, config.source_vocab_size, config.num_encoder_layers),
        (decoder, config.target_vocab_size, config.num_decoder_layers),
    )
    stacks = [
        {**both, **own, "vocab_size": ids, "num_hidden_layers": layers}
        for own, ids, layers in sizes
    ]
    return {
        "model_type": "t5gemma",
        "encoder": stacks[0],
        "decoder": stacks[1],
        "tie_word_embeddings": config.share_embeddings == "target",
    }


def _tensors(outgoing: Outgoing) -> dict[str, Array]:
    model = outgoing.model
    blocks = (
        *blocks_table(model.encoder_stack, "encoder"),
        *blocks_table(model.decoder_stack, "decoder"),
    )
    return dump_weights((*ends_table(model), *blocks))


def _save_tokenizer(outgoing: Outgoing, directory: Path) -> None:
    marks, start = outgoing.config.marks, outgoing.config.special_ids.decoder_start
    save_llama_tokenizer(
        outgoing.source,
        directory,
        start,
        "GemmaTokenizer",
        starts_texts=bool(marks.source),
        ends_texts=marks.source_eos,
    )


T5GEMMA = Architecture(_FORM, _config, _tensors, _save_tokenizer, _check)
