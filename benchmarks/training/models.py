"""The models that are trained, by name; nothing here needs TensorFlow."""

from speed.sizes import SIZES

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.config.transformer import TransformerConfig

_PIECES = 10_000
# For smoke tests: they say nothing about speed.
_MINI = {"model_dim": 32, "feed_forward_dim": 48, "num_heads": 2, "num_layers": 2}


def _bert(vocab_size: int, preset: str = "bert-tiny", **fields: float) -> EncoderConfig:
    ids = SpecialIds(mask=SpecialIds.eos + 1)
    return EncoderConfig.preset(
        preset, vocab_size=vocab_size, head="masked_lm", special_ids=ids, **fields
    )


MODELS: dict[str, ModelConfig] = {
    **{name: size.config for name, size in SIZES.items()},
    "bert-tiny": _bert(_PIECES),
    "gpt2-tiny": DecoderConfig.preset("gpt2-tiny", vocab_size=_PIECES),
    "big": TransformerConfig.preset("big", vocab_size=32_000),
    # No attention weights are dropped, as in the translators, so that fused attention may be used.
    "bert-base": _bert(30_522, "bert-base", attention_dropout=0.0),
    "gpt2": DecoderConfig.preset("gpt2", vocab_size=50_257, attention_dropout=0.0),
    "bert-mini": _bert(300, **_MINI),
    "gpt2-mini": DecoderConfig.preset("gpt2-tiny", vocab_size=300, **_MINI),
}
