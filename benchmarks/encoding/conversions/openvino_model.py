"""Converts an encoder for OpenVINO as optimum-intel does; 8 bits are NNCF's, of weights and of
states, with scales that it learns from random rows.
"""

import sys
from pathlib import Path
from typing import Any

import nncf
import numpy as np
import openvino as ov
from optimum.intel import OVModelForFeatureExtraction

FILE = "openvino_model.xml"
_ROWS, _LENGTH = 64, 32


def convert(source: str, directory: str, precision: str) -> None:
    """Writes `openvino_model.xml` and its weights."""
    exported = OVModelForFeatureExtraction.from_pretrained(
        source, export=True, compile=False, load_in_8bit=False
    )
    model = exported.model
    if precision == "int8":
        model = nncf.quantize(
            model,
            nncf.Dataset(_rows(model, exported.config.vocab_size)),
            model_type=nncf.ModelType.TRANSFORMER,
            subset_size=_ROWS,
        )
    ov.save_model(model, Path(directory) / FILE, compress_to_fp16=False)


def _rows(model: Any, vocab_size: int) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(0)
    given = {
        "input_ids": lambda: random.integers(0, vocab_size, (1, _LENGTH)),
        "attention_mask": lambda: np.ones((1, _LENGTH), np.int64),
        "token_type_ids": lambda: np.zeros((1, _LENGTH), np.int64),
    }
    names = [value.get_any_name() for value in model.inputs]
    return [{name: given[name]() for name in names} for _ in range(_ROWS)]


if __name__ == "__main__":
    convert(*sys.argv[1:])
