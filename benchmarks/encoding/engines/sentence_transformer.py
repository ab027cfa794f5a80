"""What sentence-transformers runs between its tokenizer and its pooling: transformers' model on
PyTorch. Threads are the argument.

Runs in an environment of its own, which has sentence_transformers but not our package.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peers import HUGGING_FACE
from speed.serving import serve
from transformers import AutoModel

from ..engine import EncoderEngine, Rows, padded


class SentenceTransformerEngine(EncoderEngine):
    """`AutoModel` in inference mode, which has neither 8 nor 4 bits on a CPU.

    Args:
        threads: Threads of one batch.
    """

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)

    def load(self, folder: str, precision: str) -> None:
        """Opens Hugging Face's files; the model before is freed first."""
        self._model: Any = None
        source, dtype = str(Path(folder) / HUGGING_FACE), getattr(torch, precision)
        self._model = AutoModel.from_pretrained(source, dtype=dtype).eval()

    def prepare(self, rows: Rows) -> dict[str, torch.Tensor]:
        """Returns ids and mask."""
        ids, lengths = padded(rows)
        mask = np.arange(ids.shape[1]) < lengths[:, None]
        return {
            "input_ids": torch.from_numpy(ids).long(),
            "attention_mask": torch.from_numpy(mask).long(),
        }

    @torch.inference_mode()
    def run(self, prepared: dict[str, torch.Tensor]) -> torch.Tensor:
        """Returns states `(batch, length, model_dim)`."""
        return self._model(**prepared).last_hidden_state

    def to_states(self, result: torch.Tensor) -> np.ndarray:
        """Returns the states in float32."""
        return result.float().numpy()


if __name__ == "__main__":
    serve(SentenceTransformerEngine(int(sys.argv[1])))
