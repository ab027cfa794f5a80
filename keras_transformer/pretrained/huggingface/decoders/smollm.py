"""SmolLM 3 (Bakouch et al. 2025), a Llama of whose blocks some know no positions (Yang et al. 2025,
NoPE).
"""

from dataclasses import replace

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.common import shortest_turn
from keras_transformer.pretrained.huggingface.decoders.llama import LLAMA, llama_config
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.tensor_files import Tensors


def smollm3_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a SmolLM 3."""
    fields.require(use_sliding_window=False)
    count = fields.integer("num_hidden_layers", least=1)
    every = fields.integer("no_rope_layer_interval", 4, least=1)
    usual = [int((place + 1) % every != 0) for place in range(count)]
    kinds = fields.sequence("no_rope_layers", usual)[:count]
    if len(kinds) < count or any(kind not in (0, 1) for kind in kinds):
        raise ImportRefusedError(
            f"{fields.path} must name 1 or 0 in no_rope_layers for each of the {count} blocks, has "
            f"{kinds!r}."
        )
    config = llama_config(fields, special_ids, tensors)
    if all(kinds):
        return config
    pattern = ({} if kind else {"rotary_base": None} for kind in shortest_turn(kinds))
    return replace(config, block_pattern=tuple(pattern))


# By `model_type`.
SMOLLMS = {
    "smollm3": replace(
        LLAMA,
        config=smollm3_config,
        defaults={
            "bos_token_id": 128_000,
            "eos_token_id": 128_001,
            "pad_token_id": 128_004,
            "num_key_value_heads": 4,
            "rope_theta": 2_000_000.0,
            "tie_word_embeddings": True,
        },
    ),
}
