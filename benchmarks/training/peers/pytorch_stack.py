"""PyTorch's `nn.TransformerEncoder` as BERT with its head for hidden tokens, and as GPT-2.

Of a text only the hidden tokens reach BERT's head, as in our model.
"""

import functools
from typing import Any

import torch
from torch import nn

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.special_ids import SpecialIds

from .pytorch_parts import draw_linear_weights, drop_outputs_only, final_norm

PAD_ID = SpecialIds.pad

_ACTIVATIONS: dict[str, Any] = {
    "gelu": nn.functional.gelu,
    "gelu_tanh": functools.partial(nn.functional.gelu, approximate="tanh"),
}


class StackLossModel(nn.Module):
    """From the ids of a batch to its loss.

    Args:
        config: Of BERT with the head "masked_lm", or of GPT-2.
        label_smoothing: Of the loss.
    """

    def __init__(self, config: EncoderConfig | DecoderConfig, label_smoothing: float) -> None:
        super().__init__()
        width, is_encoder = config.model_dim, isinstance(config, EncoderConfig)
        self.is_causal = not is_encoder
        block = nn.TransformerEncoderLayer(
            width,
            config.num_heads,
            config.feed_forward_dim,
            config.dropout,
            _ACTIVATIONS[config.activation],
            config.layer_norm_epsilon,
            batch_first=True,
            norm_first=config.norm == "pre",
        )
        drop_outputs_only(block, config.attention_dropout)
        self.blocks = nn.TransformerEncoder(
            block, config.num_layers, final_norm(config), enable_nested_tensor=False
        )
        self.head = _Head(config) if is_encoder else nn.Identity()
        # The embeddings come last: their weights are drawn otherwise.
        draw_linear_weights(self)
        self.tokens = _embedding(config.vocab_size, width, width**-0.5)
        self.positions = _embedding(config.max_positions or 0, width, 0.02)
        self.types = _embedding(2, width, width**-0.5) if is_encoder else None
        self.norm = nn.LayerNorm(width, config.layer_norm_epsilon) if is_encoder else nn.Identity()
        self.drop = nn.Dropout(config.dropout)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size)) if is_encoder else None
        self.loss = nn.CrossEntropyLoss(label_smoothing=label_smoothing, ignore_index=PAD_ID)

    def forward(
        self,
        labels: torch.Tensor,
        token_ids: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        places: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Returns the mean loss of the labels that are no padding."""
        length = token_ids.shape[1]
        states = self.tokens(token_ids) + self.positions.weight[:length]
        if self.types is not None:
            states = states + self.types(token_type_ids)
        states = self.drop(self.norm(states))
        if self.is_causal:
            # Causality hides the padding after a text.
            mask = nn.Transformer.generate_square_subsequent_mask(length, token_ids.device)
            states = self.blocks(states, mask=mask, is_causal=True)
        else:
            states = self.blocks(states, src_key_padding_mask=token_ids == PAD_ID)
        if places is not None:
            states = states.gather(1, places[:, :, None].expand(-1, -1, states.shape[2]))
        logits = nn.functional.linear(self.head(states), self.tokens.weight, self.bias)
        return self.loss(logits.flatten(0, 1), labels.flatten())


class _Head(nn.Sequential):
    """What BERT puts between states and the matrix of the embeddings."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(
            nn.Linear(config.model_dim, config.model_dim),
            nn.GELU(),
            nn.LayerNorm(config.model_dim, config.layer_norm_epsilon),
        )


def _embedding(count: int, width: int, deviation: float) -> nn.Embedding:
    embedding = nn.Embedding(count, width)
    nn.init.normal_(embedding.weight, std=deviation)
    return embedding
