"""Writes random linear layers as AutoAWQ and AutoGPTQ pack them, and the weights they multiply by.

Their packages, which import much of older transformers, lie in a folder; of each a module is read.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

INPUTS, OUTPUTS, GROUP = 64, 32, 32


def module(folder: Path, name: str) -> Any:
    """Imports a module of a package without the package's own beginning."""
    parents = name.split(".")[:-1]
    for place in range(len(parents)):
        package = ModuleType(".".join(parents[: place + 1]))
        package.__path__ = [str(folder.joinpath(*parents[: place + 1]))]
        sys.modules[package.__name__] = package
    return importlib.import_module(name)


def linear(bits: int, order: torch.Tensor) -> tuple[torch.nn.Linear, torch.Tensor, torch.Tensor]:
    """Returns a layer, and the scale and zero point `(outputs, groups)` of inputs in an order."""
    layer = torch.nn.Linear(INPUTS, OUTPUTS, bias=False)
    groups = layer.weight.data[:, order].reshape(OUTPUTS, -1, GROUP)
    low, high = groups.amin(-1).clamp(max=0), groups.amax(-1).clamp(min=0)
    scales = (high - low) / (2**bits - 1)
    return layer, scales, torch.round(-low / scales)


def main() -> None:
    """Writes the file that the command line names last, of packages in the folder named first."""
    torch.manual_seed(0)
    folder = Path(sys.argv[1])
    layer, scales, zeros = linear(4, torch.arange(INPUTS))
    awq = module(folder, "awq.modules.linear.gemm").WQLinear_GEMM.from_linear(
        layer, 4, GROUP, scales=scales.T.contiguous(), zeros=zeros.T.contiguous()
    )
    unpack = module(folder, "awq.utils.packing_utils").dequantize_gemm
    found = {f"awq.{name}": getattr(awq, name) for name in ("qweight", "qzeros", "scales")}
    found["awq.weight"] = unpack(awq.qweight, awq.qzeros, awq.scales.float(), 4, GROUP).T
    linears = module(folder, "auto_gptq.nn_modules.qlinear.qlinear_cuda")
    for bits in (4, 8):
        order = torch.randperm(INPUTS)
        groups = (order.argsort() // GROUP).int()
        layer, scales, zeros = linear(bits, order)
        packed = linears.QuantLinear(bits, GROUP, INPUTS, OUTPUTS, False)
        packed.pack(layer, scales, zeros, groups)
        packed.scales = packed.scales.half()
        for name in ("qweight", "qzeros", "scales", "g_idx"):
            found[f"gptq{bits}.{name}"] = getattr(packed, name)
        packed.scales = packed.scales.float()
        found[f"gptq{bits}.weight"] = packed(torch.eye(INPUTS)).T
    np.savez_compressed(sys.argv[2], **{name: one.numpy() for name, one in found.items()})


if __name__ == "__main__":
    main()
