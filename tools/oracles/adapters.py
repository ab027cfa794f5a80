"""Makes low-rank adapters of tiny random models with Hugging Face's `peft`, in its files, and
writes beside them what the models compute with the adapters merged in. Needs PyTorch, transformers
and peft.

`merged.npz` holds ids of a text, `(1, tokens)`, and the logits of each.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import peft
import torch
import transformers

# The layers that are adapted, those that peft chooses by itself if None, and what else is set.
ADAPTERS: dict[str, tuple[str, list[str] | None, dict[str, Any]]] = {
    "llama": ("CausalLM", None, {}),
    "gpt2": ("CausalLM", ["c_attn", "c_proj", "c_fc"], {"use_rslora": True}),
    "bert": ("MaskedLM", None, {}),
}
IDS = [[5, 9, 30, 7, 12, 44]]


def make(name: str, base: Path, path: Path) -> None:
    """Writes an adapter of a model."""
    head, modules, options = ADAPTERS[name]
    model = getattr(transformers, f"AutoModelFor{head}").from_pretrained(base)
    config = peft.LoraConfig(
        r=2,
        lora_alpha=6,
        target_modules=modules,
        # Both factors are random; by default an adapter changes nothing at first.
        init_lora_weights=False,
        task_type="CAUSAL_LM" if head == "CausalLM" else None,
        **options,
    )
    torch.manual_seed(7)
    adapted = peft.get_peft_model(model, config)
    adapted.save_pretrained(path)
    (path / "README.md").unlink(missing_ok=True)
    merged, ids = adapted.merge_and_unload().eval(), torch.tensor(IDS)
    with torch.no_grad():
        logits = merged(ids).logits.numpy()
    np.savez_compressed(path / "merged.npz", ids=np.array(IDS, np.int32), logits=logits)


def main() -> None:
    """Writes every adapter."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, help="Directory of the models.")
    parser.add_argument("output", type=Path, help="Directory of the adapters.")
    options = parser.parse_args()
    for name in ADAPTERS:
        path = options.output / name
        shutil.rmtree(path, ignore_errors=True)
        make(name, options.models / name, path)


if __name__ == "__main__":
    main()
