"""The least that a translation costs: weights that must be read and multiply-adds that must be done
for each token, counted from a model's sizes.
"""

import dataclasses

from keras_transformer.config import TransformerConfig


@dataclasses.dataclass(frozen=True)
class Costs:
    """Counts for one generated token of one translation.

    Attributes:
        weights: Weights read, if sentences are translated one by one.
        multiply_adds: Multiply-adds, however many sentences there are.
    """

    weights: float
    multiply_adds: float


def costs(
    config: TransformerConfig, source_tokens: int, target_tokens: int, beam_size: int
) -> Costs:
    """Counts the costs of a token; the encoder's are shared among a sentence's tokens.

    Args:
        config: The model's sizes.
        source_tokens: Tokens of a source sentence, the end token included.
        target_tokens: Tokens generated for it.
        beam_size: Hypotheses for each sentence: all of them read a weight once.
    """
    width, heads = config.model_dim, config.num_heads
    keys, values = heads * config.key_dim, heads * config.value_dim
    feed_forward = 2 * width * config.feed_forward_dim
    query_and_output = width * (keys + values)
    key_and_value = width * (keys + values)
    encoder = config.num_encoder_layers * (query_and_output + key_and_value + feed_forward)
    crossing = config.num_decoder_layers * key_and_value
    decoder = config.num_decoder_layers * (2 * query_and_output + key_and_value + feed_forward)
    step = decoder + config.target_vocab_size * width
    # A query against each key and a weight for each value.
    per_key = keys + values
    encoder_attention = config.num_encoder_layers * source_tokens**2 * per_key
    seen = (target_tokens + 1) / 2 + source_tokens
    decoder_attention = config.num_decoder_layers * seen * per_key
    sentence = source_tokens * (encoder + crossing) + encoder_attention
    return Costs(
        weights=step + (encoder + crossing) / target_tokens,
        multiply_adds=beam_size * (step + decoder_attention) + sentence / target_tokens,
    )
