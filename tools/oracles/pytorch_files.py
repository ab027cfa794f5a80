"""Files of PyTorch's weights with every kind of number and view: takes a directory and writes them
there, with what they hold.

Run by PyTorch: `python -m tools.oracles.pytorch_files tests/fixtures/pytorch`.
"""

import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch


def main(directory: Path) -> None:
    """Writes `pytorch_model.bin`, `legacy.bin` and `expected.npz`."""
    torch.manual_seed(0)
    whole = torch.randn(4, 6)
    layer = torch.nn.Linear(3, 2)
    tensors = OrderedDict(layer.state_dict())
    tensors |= {
        "whole": whole,
        "turned": whole.T,
        "part": whole[1:3, 2:5],
        "every_second": whole[:, ::2],
        "half": whole.half(),
        "bfloat16": whole.bfloat16()[1:],
        "double": whole.double(),
        "ids": torch.arange(7),
        "expanded_ids": torch.arange(5).expand((1, -1)),
        "flags": torch.tensor([True, False, True]),
        "bytes": torch.arange(5, dtype=torch.uint8),
        "number": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
        "trained": torch.nn.Parameter(whole * 2),
    }
    torch.save(tensors, directory / "pytorch_model.bin")
    torch.save(tensors, directory / "legacy.bin", _use_new_zipfile_serialization=False)
    arrays = {
        name: (one.float() if one.dtype == torch.bfloat16 else one).detach().numpy()
        for name, one in tensors.items()
    }
    np.savez(directory / "expected.npz", **arrays)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
