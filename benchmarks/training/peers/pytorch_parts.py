"""What PyTorch's models have in common: their first weights, dropout and final norm are ours."""

from typing import Any

import torch
from torch import nn

from keras_transformer.config.block_options import BlockOptions


@torch.no_grad()
def draw_linear_weights(model: nn.Module) -> None:
    """Draws them as our model does: at half of Glorot's deviation, and biases 0."""
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(weight)
        elif weight.dim() == 2:
            # Queries, keys and values are one matrix here.
            for part in weight.chunk(3) if "in_proj" in name else [weight]:
                nn.init.xavier_uniform_(part, gain=0.5)


def drop_outputs_only(layer: Any, attention_dropout: float) -> None:
    """Takes out the dropout inside the feed-forward layer and sets that of attention weights."""
    layer.dropout = nn.Identity()
    layer.self_attn.dropout = attention_dropout
    if hasattr(layer, "multihead_attn"):
        layer.multihead_attn.dropout = attention_dropout


def final_norm(config: BlockOptions) -> nn.Module | None:
    """Returns the norm after the last block, which only pre-norm stacks have."""
    if config.norm == "post":
        return None
    return nn.LayerNorm(config.model_dim, config.layer_norm_epsilon)
