"""Converts a decoder for OpenVINO as optimum-intel does: with a cache inside of the model, 8 and 4
bits by NNCF.
"""

import sys
from typing import Any

from optimum.intel import OVModelForCausalLM, OVWeightQuantizationConfig

# Widths of models are not always multiples of optimum's 128; ours has as many weights in a block.
_GROUP = 32
_BITS: dict[str, dict[str, Any]] = {"int8": {"bits": 8}, "int4": {"bits": 4, "group_size": _GROUP}}


def convert(source: str, directory: str, precision: str) -> None:
    """Writes `openvino_model.xml` and its weights."""
    bits = _BITS.get(precision)
    model = OVModelForCausalLM.from_pretrained(
        source,
        export=True,
        compile=False,
        load_in_8bit=False,
        quantization_config=bits and OVWeightQuantizationConfig(**bits),
    )
    model.save_pretrained(directory)


if __name__ == "__main__":
    convert(*sys.argv[1:])
