"""PyTorch's `nn.Transformer` parts, stacked into the same model and trained as one does there:
tied embedding, `CrossEntropyLoss`, fused Adam, bfloat16 by autocast. The first weights are ours.

What PyTorch can leave out it leaves out: attention weights are not dropped, as in our model, so
that it may use its fused attention, and no mask hides the targets' padding, which causality does.
"""

import math
import os
import sys
import time
from typing import Any

import numpy as np
import torch
from speed.serving import serve
from torch import nn

from keras_transformer.config import TransformerConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.config.special_ids import SpecialIds

from ..batches import Batch
from ..trainer import OPTIONS, Trainer, product_error
from .pytorch_parts import draw_linear_weights, drop_outputs_only, final_norm
from .pytorch_stack import StackLossModel

Tensors = dict[str, torch.Tensor]

PAD_ID = SpecialIds.pad

_MOST_POSITIONS = 512


class TorchTrainer(Trainer):
    """A training loop in PyTorch.

    Args:
        device: "cpu", or "accelerator" for a GPU if there is one; float32 products are then in
            TF32, as in JAX.
    """

    def __init__(self, device: str = "cpu") -> None:
        on_gpu = device == "accelerator" and torch.cuda.is_available()
        self._device = torch.device("cuda" if on_gpu else "cpu")
        if on_gpu:
            torch.set_float32_matmul_precision("high")

    def build(
        self, config: ModelConfig, precision: str, compiled: bool, batches: list[Batch]
    ) -> int:
        """Makes model and optimizer, and finds the best number of threads."""
        torch.manual_seed(0)
        self._data = [_tensors(batch, self._on_gpu) for batch in batches]
        self._autocast = precision == "mixed_bfloat16"
        of_family = LossModel if isinstance(config, TransformerConfig) else StackLossModel
        self._model: nn.Module = of_family(config, OPTIONS.label_smoothing)  # type: ignore[arg-type]
        self._model.to(self._device)
        self._optimizer = torch.optim.Adam(
            self._model.parameters(),
            lr=1.0,
            betas=(0.9, OPTIONS.beta_2),
            eps=OPTIONS.epsilon,
            fused=True,
        )
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, lambda step: _rate(step + 1)
        )
        self._run: Any = self._model
        if not self._on_gpu:
            torch.set_num_threads(self._best_threads())
        if compiled:
            torch._dynamo.config.recompile_limit = max(8, 2 * len(batches))
            self._run = torch.compile(self._model, dynamic=False)
        return sum(weight.numel() for weight in self._model.parameters())

    def train(self) -> None:
        """Makes an update for each batch."""
        for batch in self._data:
            self._step(batch)
        if self._on_gpu:
            torch.cuda.synchronize()

    def train_on_first(self) -> float:
        """Makes an update for the first batch."""
        return float(self._step(self._data[0]))

    def peak_memory(self) -> int:
        """Returns the most bytes that this process has held, on a GPU those there."""
        return torch.cuda.max_memory_allocated() if self._on_gpu else super().peak_memory()

    def describe(self) -> dict[str, Any]:
        """Returns the "device" and the error of its float32 products."""

        def multiply(left: np.ndarray, right: np.ndarray) -> np.ndarray:
            sides = (torch.from_numpy(side).to(self._device) for side in (left, right))
            return torch.matmul(*sides).cpu().numpy()

        name = torch.cuda.get_device_name() if self._on_gpu else "CPU"
        return {"device": name, "product_error": product_error(multiply)}

    @property
    def _on_gpu(self) -> bool:
        return self._device.type == "cuda"

    def _step(self, batch: Tensors) -> torch.Tensor:
        loss = self._backward(batch)
        nn.utils.clip_grad_norm_(self._model.parameters(), OPTIONS.clip_norm)
        self._optimizer.step()
        self._schedule.step()
        return loss.detach()

    def _backward(self, batch: Tensors) -> torch.Tensor:
        self._optimizer.zero_grad(set_to_none=True)
        moved = {name: ids.to(self._device, non_blocking=True) for name, ids in batch.items()}
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._autocast):
            loss = self._run(**moved)
        loss.backward()
        return loss

    def _best_threads(self) -> int:
        """Times gradients of the first batch, without an update, on one thread and on all."""
        seconds = {}
        for threads in sorted({1, len(os.sched_getaffinity(0))}):
            torch.set_num_threads(threads)
            self._backward(self._data[0])
            start = time.perf_counter()
            self._backward(self._data[0])
            seconds[threads] = time.perf_counter() - start
        return min(seconds, key=seconds.__getitem__)


class LossModel(nn.Module):
    """From the ids of a batch to its loss."""

    def __init__(self, config: TransformerConfig, label_smoothing: float) -> None:
        super().__init__()
        self.width = config.model_dim
        self.embedding = nn.Embedding(config.target_vocab_size, self.width)
        nn.init.normal_(self.embedding.weight, std=self.width**-0.5)
        self.register_buffer("waves", _sinusoids(self.width), persistent=False)
        self.drop = nn.Dropout(config.dropout)
        shape = {
            "d_model": self.width,
            "nhead": config.num_heads,
            "dim_feedforward": config.feed_forward_dim,
            "dropout": config.dropout,
            "activation": config.activation,
            "layer_norm_eps": config.layer_norm_epsilon,
            "norm_first": config.norm == "pre",
            "batch_first": True,
        }
        encoder = nn.TransformerEncoderLayer(**shape)
        decoder = nn.TransformerDecoderLayer(**shape)
        for layer in (encoder, decoder):
            drop_outputs_only(layer, config.attention_dropout)
        self.transformer = nn.Transformer(
            self.width,
            config.num_heads,
            custom_encoder=nn.TransformerEncoder(
                encoder, config.num_encoder_layers, final_norm(config), enable_nested_tensor=False
            ),
            custom_decoder=nn.TransformerDecoder(
                decoder, config.num_decoder_layers, final_norm(config)
            ),
            batch_first=True,
        )
        draw_linear_weights(self.transformer)
        self.loss = nn.CrossEntropyLoss(label_smoothing=label_smoothing, ignore_index=PAD_ID)

    def forward(
        self, labels: torch.Tensor, source_ids: torch.Tensor, target_ids: torch.Tensor
    ) -> torch.Tensor:
        """Returns the mean loss of the labels that are no padding."""
        padding = source_ids == PAD_ID
        states = self.transformer(
            self._embed(source_ids),
            self._embed(target_ids),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(
                target_ids.shape[1], target_ids.device
            ),
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        logits = nn.functional.linear(states, self.embedding.weight)
        return self.loss(logits.flatten(0, 1), labels.flatten())

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        return self.drop(self.embedding(ids) * math.sqrt(self.width) + self.waves[: ids.shape[1]])


def _sinusoids(width: int) -> torch.Tensor:
    feature = torch.arange(width)
    rate = 10_000.0 ** (-2 * (feature // 2) / width)
    angles = torch.arange(_MOST_POSITIONS)[:, None] * rate
    return torch.where(feature % 2 == 0, angles.sin(), angles.cos())


def _rate(step: int) -> float:
    warmup = OPTIONS.warmup_steps
    return OPTIONS.learning_rate * min(step / warmup, math.sqrt(warmup / step))


def _tensors(batch: Batch, pinned: bool) -> Tensors:
    """Returns a batch in the host's memory, pinned if it will be copied to a GPU."""
    arrays = {**batch.inputs, "labels": np.where(batch.sample_weight > 0, batch.labels, PAD_ID)}
    tensors = {name: torch.from_numpy(array).long() for name, array in arrays.items()}
    return {name: ids.pin_memory() if pinned else ids for name, ids in tensors.items()}


if __name__ == "__main__":
    serve(TorchTrainer(*sys.argv[1:]))
