"""StableLM 2 (Bellagente et al. 2024), a Llama with LayerNorm, which turns a part of each head, and
whose queries, keys and values may have biases.
"""

from dataclasses import replace

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.huggingface.decoders.llama import LLAMA, changed, llama_config
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.tensor_files import Tensors


def stablelm_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a StableLM."""
    fields.require(qk_layernorm=False, use_parallel_residual=False)
    has_biases = fields.flag("use_qkv_bias", False)
    given = {"attention_bias": has_biases, "rms_norm_eps": fields.number("layer_norm_eps", 1e-5)}
    config = llama_config(changed(fields, **given), special_ids, tensors)
    return replace(config, norm_kind="layer_norm", attention_output_bias=not has_biases)


# By `model_type`.
STABLELMS = {
    "stablelm": replace(
        LLAMA,
        config=stablelm_config,
        defaults={"bos_token_id": 0, "eos_token_id": 0, "partial_rotary_factor": 0.25},
    ),
}
