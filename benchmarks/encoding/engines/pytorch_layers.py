"""PyTorch on the same weights, in BERT's form: linear layers and `scaled_dot_product_attention`;
int8 is PyTorch's dynamic quantization of the linear layers. Threads are the argument.

Runs in another environment's interpreter, which has torch and numpy but not our package.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from speed.serving import serve
from torch import nn
from torch.nn import functional

from ..engine import EncoderEngine, Rows, padded

Weights = dict[str, torch.Tensor]


class Block(nn.Module):
    """One block, post-norm.

    Args:
        weights: All weights.
        number: The block's.
        heads: Attention heads.
        epsilon: Of the normalisations.
    """

    def __init__(self, weights: Weights, number: int, heads: int, epsilon: float) -> None:
        super().__init__()
        self.heads = heads
        parts = [f"{number}.{name}" for name in ("query", "key", "value")]
        self.projection = _linear(
            *(torch.cat([weights[f"{p}.{kind}"] for p in parts], -1) for kind in ("kernel", "bias"))
        )
        for name in ("output", "hidden", "transformed"):
            own = (weights[f"{number}.{name}.{kind}"] for kind in ("kernel", "bias"))
            setattr(self, name, _linear(*own))
        for name in ("attention_norm", "feed_forward_norm"):
            setattr(self, name, _norm(weights, f"{number}.{name}", epsilon))

    def forward(self, states: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Takes and returns `(batch, length, model_dim)`."""
        batch, length, width = states.shape
        parts = self.projection(states).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        read = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        attended = self.output(read.transpose(1, 2).reshape(batch, length, width))
        states = self.attention_norm(states + attended)
        transformed = self.transformed(functional.gelu(self.hidden(states)))
        return self.feed_forward_norm(states + transformed)


class Encoder(nn.Module):
    """Embeddings and blocks.

    Args:
        weights: All weights, by `named_weights`' names.
        config: The plain values of the model's config.
    """

    def __init__(self, weights: Weights, config: dict[str, Any]) -> None:
        super().__init__()
        epsilon = config["layer_norm_epsilon"]
        self.tokens = nn.Embedding.from_pretrained(weights["tokens"])
        # The rows of one text have one token type.
        self.places = nn.Parameter(weights["positions"] + weights["token_types"][0])
        self.norm = _norm(weights, "norm", epsilon)
        self.blocks = nn.ModuleList(
            Block(weights, number, config["num_heads"], epsilon)
            for number in range(config["num_layers"])
        )

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Takes ids `(batch, length)` and a mask that broadcasts to the scores."""
        states = self.norm(self.tokens(ids) + self.places[: ids.shape[1]])
        for block in self.blocks:
            states = block(states, mask)
        return states


class PyTorchEngine(EncoderEngine):
    """The module above in inference mode.

    Args:
        threads: Threads of one batch.
    """

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)

    def load(self, folder: str, precision: str) -> None:
        """Builds the model from the weights; the one before is freed first."""
        self._model: Any = None
        config = json.loads((Path(folder) / "run" / "config.json").read_text(encoding="utf-8"))
        with np.load(Path(folder) / "weights" / "weights.npz") as arrays:
            weights = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
        model = Encoder(weights, config).eval()
        if precision == "int8":
            model = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, torch.qint8)
        self._model = model

    def prepare(self, rows: Rows) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Returns ids and, if lengths differ, the mask of real tokens."""
        ids, lengths = padded(rows)
        mask = None
        if lengths.min() < lengths.max():
            mask = torch.from_numpy(np.arange(ids.shape[1]) < lengths[:, None])[:, None, None]
        return torch.from_numpy(ids), mask

    @torch.inference_mode()
    def run(self, prepared: tuple[torch.Tensor, torch.Tensor | None]) -> torch.Tensor:
        """Returns states `(batch, length, model_dim)`."""
        return self._model(*prepared)

    def to_states(self, result: torch.Tensor) -> np.ndarray:
        """Returns the states."""
        return result.numpy()


def _linear(kernel: torch.Tensor, bias: torch.Tensor) -> nn.Linear:
    layer = nn.Linear(*kernel.shape)
    layer.weight.data, layer.bias.data = kernel.T.contiguous(), bias
    return layer


def _norm(weights: Weights, name: str, epsilon: float) -> nn.LayerNorm:
    gamma, beta = (weights[f"{name}.{kind}"] for kind in ("gamma", "beta"))
    layer = nn.LayerNorm(len(gamma), eps=epsilon)
    layer.weight.data, layer.bias.data = gamma, beta
    return layer


if __name__ == "__main__":
    serve(PyTorchEngine(int(sys.argv[1])))
