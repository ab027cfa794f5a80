"""Writes a random adaptive softmax of PyTorch, and the log-probabilities that it gives."""

import sys
from pathlib import Path

import numpy as np
import torch

VOCABULARY, WIDTH, CUTOFFS, TOKENS = 40, 12, [10, 25], 7


def main() -> None:
    """Writes the file that the command line names: weights, states and log-probabilities."""
    torch.manual_seed(0)
    head = torch.nn.AdaptiveLogSoftmaxWithLoss(
        WIDTH, VOCABULARY, CUTOFFS, div_value=2.0, head_bias=True
    )
    states = torch.randn(TOKENS, WIDTH)
    with torch.no_grad():
        found = head.log_prob(states)
    weights = {name: value.numpy() for name, value in head.state_dict().items()}
    np.savez(
        Path(sys.argv[1]),
        cutoffs=CUTOFFS,
        states=states.numpy(),
        log_probabilities=found.numpy(),
        **weights,
    )


if __name__ == "__main__":
    main()
