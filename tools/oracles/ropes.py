"""Asks Hugging Face transformers what a Llama of the fixtures computes with each kind of scaled
rotary positions: log-probabilities of texts, and greedy continuations where angles do not depend on
how long a text has become. Needs PyTorch and transformers.

    python -m tools.oracles.ropes tests/fixtures/stacks/llama tests/fixtures/ropes.json
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
import transformers

NEW_TOKENS = 12
LONG: dict[str, Any] = {
    "rope_type": "longrope",
    "factor": 4.0,
    "short_factor": [1.0, 1.1, 1.3, 2.0],
    "long_factor": [1.0, 2.0, 3.0, 5.0],
}
ORIGINAL = "original_max_position_embeddings"
# Fields of a config, of which those with a `length` choose by it.
KINDS: dict[str, dict[str, Any]] = {
    "linear": {"rope_parameters": {"rope_type": "linear", "factor": 3.0}},
    "dynamic": {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}},
    "dynamic, long": {
        "rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "length": 0},
        "max_position_embeddings": 8,
    },
    "llama3": {
        "rope_parameters": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            ORIGINAL: 32,
        }
    },
    "yarn": {"rope_parameters": {"rope_type": "yarn", "factor": 4.0, ORIGINAL: 32}},
    "yarn, mscale": {
        "rope_parameters": {
            "rope_type": "yarn",
            "factor": 4.0,
            ORIGINAL: 32,
            "mscale": 1.2,
            "mscale_all_dim": 0.7,
            "truncate": False,
            "beta_fast": 16,
        }
    },
    "longrope": {"rope_parameters": {**LONG, ORIGINAL: 64}},
    "longrope, long": {"rope_parameters": {**LONG, ORIGINAL: 8, "length": 0}},
}


def ask(path: Path, fields: dict[str, Any], rows: list[list[int]]) -> dict[str, Any]:
    """Returns what the model with other fields computes of rows of ids."""
    config = transformers.LlamaConfig.from_pretrained(path)
    rope = {"rope_theta": 10_000.0, **fields["rope_parameters"]}
    is_long = "length" in rope
    rope.pop("length", None)
    config.update({**fields, "rope_parameters": rope})
    model = transformers.LlamaForCausalLM.from_pretrained(path, config=config).eval()
    eos, found = config.eos_token_id, dict(fields)
    if is_long:
        # The longest text alone, whose length says the angles.
        rows = [max(rows, key=len)]
        length = len(rows[0]) + 1
        found["rope_parameters"] = {**fields["rope_parameters"], "length": length}
    with torch.no_grad():
        whole = [torch.tensor([[eos, *row, eos]]) for row in rows]
        values = [model(row[:, :-1]).logits.log_softmax(-1)[0] for row in whole]
        sums = [
            one.gather(1, row[0, 1:, None]).sum().item()
            for one, row in zip(values, whole, strict=True)
        ]
        greedy = [] if is_long else [continued(model, [eos, *row[:5]]) for row in rows]
    return {"fields": found, "ids": rows, "log_probabilities": sums, "greedy": greedy}


def continued(model: Any, prompt: list[int]) -> list[int]:
    """Returns the ids that greedy search writes behind a prompt."""
    ids = torch.tensor([prompt])
    options = {"max_new_tokens": NEW_TOKENS, "do_sample": False}
    options["pad_token_id"] = model.config.eos_token_id
    written = model.generate(ids, attention_mask=torch.ones_like(ids), **options)
    found: list[int] = written[0].tolist()[len(prompt) :]
    return found


def main() -> None:
    """Writes the file that the command line names last."""
    torch.set_num_threads(1)
    path, output = (Path(one) for one in sys.argv[1:])
    rows = json.loads((path / "reference.json").read_text(encoding="utf-8"))["ids"]
    found = {name: ask(path, fields, rows) for name, fields in KINDS.items()}
    output.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
