"""Hugging Face Optimum's onnxruntime decoder on a Marian model of the same shape, with other random
weights and always post-norm.

Runs in another environment's interpreter, which has `optimum[onnxruntime]`, torch and transformers
but not our package.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from optimum.onnxruntime import ORTModelForSeq2SeqLM
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from ..serving import Engine, serve

# As in `SpecialIds`.
PAD_ID, BOS_ID, EOS_ID = 0, 2, 3
_MOST_POSITIONS = 512


class OptimumEngine(Engine):
    """`ORTModelForSeq2SeqLM.generate` with its defaults."""

    def load(self, folder: str, precision: str) -> None:
        """Opens the export of the run's shape, whatever the precision; makes it where missing."""
        directory = Path(folder) / "optimum"
        if not directory.exists():
            values = json.loads((Path(folder) / "run" / "config.json").read_text(encoding="utf-8"))
            _export(_marian(values), directory)
        self._model = ORTModelForSeq2SeqLM.from_pretrained(directory)

    def prepare(self, rows: list[list[int]]) -> torch.Tensor:
        """Returns `(batch, source_length)`; the rows are of one length."""
        return torch.tensor([[*row, EOS_ID] for row in rows])

    def run(self, prepared: torch.Tensor, beam_size: int, length: int) -> torch.Tensor:
        """Returns `(batch, 1 + length)`, the start token first."""
        return self._model.generate(
            input_ids=prepared,
            attention_mask=torch.ones_like(prepared),
            num_beams=beam_size,
            do_sample=False,
            min_new_tokens=length,
            max_new_tokens=length,
        )

    def to_ids(self, result: torch.Tensor) -> list[list[int]]:
        """Returns the rows without the start token."""
        return result[:, 1:].tolist()


def _marian(values: dict[str, Any]) -> MarianConfig:
    """Makes the config of Marian for one of ours."""
    return MarianConfig(
        vocab_size=values["target_vocab_size"],
        d_model=values["model_dim"],
        encoder_layers=values["num_encoder_layers"],
        decoder_layers=values["num_decoder_layers"],
        encoder_attention_heads=values["num_heads"],
        decoder_attention_heads=values["num_heads"],
        encoder_ffn_dim=values["feed_forward_dim"],
        decoder_ffn_dim=values["feed_forward_dim"],
        activation_function=values["activation"],
        max_position_embeddings=_MOST_POSITIONS,
        scale_embedding=True,
        pad_token_id=PAD_ID,
        bos_token_id=BOS_ID,
        eos_token_id=EOS_ID,
        decoder_start_token_id=BOS_ID,
        forced_eos_token_id=None,
    )


def _export(config: MarianConfig, directory: Path) -> None:
    torch.manual_seed(0)
    model = MarianMTModel(config)
    special = {"pad_token_id": PAD_ID, "bos_token_id": BOS_ID, "eos_token_id": EOS_ID}
    model.generation_config = GenerationConfig(decoder_start_token_id=BOS_ID, **special)
    with tempfile.TemporaryDirectory() as temporary:
        model.save_pretrained(temporary)
        exported = ORTModelForSeq2SeqLM.from_pretrained(temporary, export=True, use_cache=True)
        partial = directory.with_name(f"{directory.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        exported.save_pretrained(partial)
    partial.rename(directory)


if __name__ == "__main__":
    serve(OptimumEngine())
