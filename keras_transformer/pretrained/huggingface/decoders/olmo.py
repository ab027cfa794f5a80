"""OLMo 2 (OLMo et al. 2024), a Llama that normalises what sub-layers add in place of what they
read, and the queries and keys of all heads together.
"""

from dataclasses import replace

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.huggingface.decoders.llama import LLAMA, llama_config
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.tensor_files import Tensors


def olmo2_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of an OLMo 2."""
    config = llama_config(fields, special_ids, tensors)
    return replace(config, norm="output", query_key_norm=True, query_key_norm_over="all_heads")


# By `model_type`.
OLMOS = {
    "olmo2": replace(
        LLAMA,
        config=olmo2_config,
        defaults={"eos_token_id": 50_279, "pad_token_id": 1, "rms_norm_eps": 1e-5},
    ),
}
