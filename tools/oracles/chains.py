"""Makes the oracles of tags: what pytorch-crf computes for random chains, and what seqeval counts.

`make oracles` installs both apart. `pytorch_crf.npz` holds scores, emissions `(batch, length,
tags)`, tags and a mask `(batch, length)`, the log-likelihood of each text in nats and its best
path; `seqeval.json` holds lists of right and of found tags and the scores of each, by default.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities
from torchcrf import CRF

SCORES = (precision_score, recall_score, f1_score)
TAGS, BATCH, LENGTH = 5, 6, 9
SCHEMES = {
    "BIO": ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"],
    "BIOES": ["O", *(f"{letter}-{kind}" for kind in ("PER", "LOC") for letter in "BIES")],
}


def write_chains(path: Path) -> None:
    """Writes a random chain and what pytorch-crf makes of it."""
    torch.manual_seed(0)
    chain = CRF(TAGS, batch_first=True)
    for weight in chain.parameters():
        torch.nn.init.normal_(weight)
    emissions = 2 * torch.randn(BATCH, LENGTH, TAGS)
    tags = torch.randint(0, TAGS, (BATCH, LENGTH))
    mask = torch.arange(LENGTH) < torch.tensor([9, 1, 4, 7, 2, 5])[:, None]
    with torch.no_grad():
        likelihood = chain(emissions, tags, mask, reduction="none")
        paths = chain.decode(emissions, mask)
    best = np.zeros((BATCH, LENGTH), np.int32)
    for row, path_of_text in zip(best, paths, strict=True):
        row[: len(path_of_text)] = path_of_text
    np.savez(
        path,
        transitions=chain.transitions.detach().numpy(),
        starts=chain.start_transitions.detach().numpy(),
        ends=chain.end_transitions.detach().numpy(),
        emissions=emissions.numpy(),
        tags=tags.numpy(),
        word_mask=mask.numpy(),
        log_likelihood=likelihood.numpy(),
        best=best,
    )


def write_scores(path: Path) -> None:
    """Writes random tags, most of which break their scheme, and what seqeval says of them."""
    random, cases = np.random.default_rng(0), []
    for labels in SCHEMES.values():
        for _ in range(15):
            lengths = random.integers(1, 9, 4)
            right = [random.choice(labels, length).tolist() for length in lengths]
            kept = [random.random(length) < 0.7 for length in lengths]
            found = [
                np.where(keep, tags, random.choice(labels, len(tags))).tolist()
                for keep, tags in zip(kept, right, strict=True)
            ]
            cases.append(
                {
                    "labels": labels,
                    "right": right,
                    "found": found,
                    "spans": [get_entities(tags) for tags in right],
                    "scores": [float(score(right, found)) for score in SCORES],
                }
            )
    path.write_text(json.dumps(cases) + "\n", encoding="utf-8")


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    write_chains(directory / "pytorch_crf.npz")
    write_scores(directory / "seqeval.json")
