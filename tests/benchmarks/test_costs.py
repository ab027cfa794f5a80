"""What a token costs, against the model's own weights and by hand."""

import math

import pytest
from speed.costs import costs

from keras_transformer.config import TransformerConfig
from keras_transformer.models.transformer import build_transformer


@pytest.mark.parametrize("share", ["all", "target"])
def test_the_weights_of_a_single_token_are_all_matrices_once(share: str) -> None:
    config = TransformerConfig.preset("tiny", vocab_size=50, share_embeddings=share)
    matrices = {
        weight.path: math.prod(weight.shape)
        for weight in build_transformer(config).weights
        # A lookup reads one row.
        if len(weight.shape) == 2 and (share == "all" or "source_embeddings" not in weight.path)
    }
    assert costs(config, 24, 1, 1).weights == sum(matrices.values())


def test_the_encoders_weights_are_shared_among_tokens() -> None:
    config = TransformerConfig.preset("tiny", vocab_size=50)
    one, many = costs(config, 24, 1, 1).weights, costs(config, 24, 10, 1).weights
    encoder = 4 * (4 * 128**2 + 2 * 128 * 256) + 4 * 2 * 128**2
    assert one - many == pytest.approx(encoder * 0.9)


def test_multiply_adds_by_hand() -> None:
    config = TransformerConfig(
        source_vocab_size=10,
        model_dim=4,
        feed_forward_dim=8,
        num_heads=2,
        num_encoder_layers=1,
        num_decoder_layers=1,
    )
    # Encoder: 3 tokens through 4 projections and 2 feed-forward matrices, 3 × 3 scores and sums;
    # keys and values for the decoder.
    encoder = 3 * (4 * 16 + 2 * 32) + 9 * 8 + 3 * 2 * 16
    # A step: 6 projections, 2 feed-forward matrices, 10 logits; on average 1.5 own positions (of
    # 1 and 2) and 3 of the source.
    step = 6 * 16 + 2 * 32 + 40 + 4.5 * 8
    found = costs(config, source_tokens=3, target_tokens=2, beam_size=5)
    assert found.multiply_adds == pytest.approx(5 * step + encoder / 2)


def test_beams_read_a_weight_once() -> None:
    config = TransformerConfig.preset("tiny", vocab_size=50)
    assert costs(config, 24, 48, 4).weights == costs(config, 24, 48, 1).weights
