"""Makes two tiny random Transformer-XLs with Hugging Face transformers, one of them with adaptive
input and softmax, in their files, and writes what they compute in segments with memory beside them.
Needs PyTorch and transformers 4.57, the last to have it.
"""

import argparse
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import transformers
from transformers.models.deprecated.transfo_xl import modeling_transfo_xl

from tools.oracles.stacks import BYTE_LEVEL, GIVEN, HEADS, HIDDEN, LAYERS, TRAINING, WIDTH
from tools.oracles.texts import hostile, pairs
from tools.oracles.translators import randomize
from tools.oracles.vocabularies import byte_level

SEGMENTS, MEMORY, NEW_TOKENS = 3, 6, 12
# As published, in small: clusters of rarer ids, and distances that count alike from one on.
FORMS: dict[str, dict[str, Any]] = {
    "transfo_xl": {"cutoffs": [], "div_val": 1, "clamp_len": -1},
    "transfo_xl_adaptive": {"cutoffs": [60, 150, 280], "div_val": 2, "clamp_len": 4},
}


def make(path: Path, form: dict[str, Any]) -> tuple[Any, Any]:
    """Returns a model and its tokenizer, whose files it writes."""
    ends = {"eos_token": "<|endoftext|>", "bos_token": "<|endoftext|>"}
    tokenizer = byte_level(pairs(TRAINING)[0], BYTE_LEVEL, ["<|endoftext|>"], **ends)
    tokenizer.save_pretrained(path)
    config = transformers.TransfoXLConfig(
        vocab_size=len(tokenizer),
        d_model=WIDTH,
        d_embed=WIDTH,
        d_inner=HIDDEN,
        n_head=HEADS,
        d_head=WIDTH // HEADS,
        n_layer=LAYERS,
        mem_len=MEMORY,
        bos_token_id=0,
        eos_token_id=0,
        **form,
    )
    return transformers.TransfoXLLMHeadModel(config), tokenizer


class Positions(torch.Tensor):
    """A tensor whose `type_as` takes a `dtype`, by which alone their model calls it, in error."""

    def type_as(self, other: Any = None, dtype: Any = None) -> Any:
        """Returns a plain tensor of that type."""
        return self.as_subclass(torch.Tensor).to(dtype or other.dtype)


def arange(*arguments: Any, **options: Any) -> Any:
    """As PyTorch's, for the model's own module."""
    return torch.arange(*arguments, **options).as_subclass(Positions)


def read(model: Any, ids: list[int], memory: list[Any]) -> tuple[Any, list[Any]]:
    """Returns the log-probabilities behind each token of a segment, and the memory after it."""
    found = model(torch.tensor([ids]), mems=memory)
    return found.prediction_scores[0], found.mems


def nothing() -> list[Any]:
    """Returns the memory before a text: empty; theirs are zeros, to which tokens attend."""
    return [torch.zeros(0, 1, WIDTH) for _ in range(LAYERS)]


def log_probability(model: Any, row: list[int]) -> float:
    """Returns that of a text, read in segments of equal lengths."""
    length, memory, total = -(-(len(row) - 1) // SEGMENTS), nothing(), 0.0
    for begin in range(0, len(row) - 1, length):
        labels = row[begin + 1 : begin + 1 + length]
        values, memory = read(model, row[begin : begin + len(labels)], memory)
        total += values.gather(1, torch.tensor(labels)[:, None]).sum().item()
    return total


def continuation(model: Any, prompt: list[int], eos: int) -> list[int]:
    """Returns the most probable token behind each, read one by one."""
    values, memory = read(model, prompt, nothing())
    found: list[int] = []
    while len(found) < NEW_TOKENS and found[-1:] != [eos]:
        found.append(int(values[-1].argmax()))
        values, memory = read(model, found[-1:], memory)
    return found


def main() -> None:
    """Writes the models into folders in the one that the command line names."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    # What the model's module calls torch is PyTorch but for this.
    modeling_transfo_xl.torch = SimpleNamespace(**{**vars(torch), "arange": arange})
    for name, form in FORMS.items():
        write(folder / name, form)


def write(path: Path, form: dict[str, Any]) -> None:
    """Writes a model, and what it computes."""
    path.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    model, tokenizer = make(path, form)
    randomize(model)
    model.eval().save_pretrained(path)
    texts, strings = pairs(GIVEN, start=TRAINING)[0], hostile(40)
    ids = [tokenizer(text)["input_ids"] for text in texts]
    with torch.no_grad():
        found = {
            "texts": texts,
            "ids": ids,
            "hostile": strings,
            "hostile_ids": [tokenizer(text)["input_ids"] for text in strings],
            "log_probabilities": [log_probability(model, [0, *row, 0]) for row in ids],
            "greedy": [continuation(model, [0, *row[:5]], eos=0) for row in ids],
        }
    (path / "reference.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
