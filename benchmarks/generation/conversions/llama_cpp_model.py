"""Converts a decoder for llama.cpp: a GGUF file in float32, quantized by the engine itself."""

import ctypes
import sys
import tempfile
from pathlib import Path

import llama_cpp

from .gguf_file import write_gguf

FILE = "model.gguf"
_KINDS = {
    "bfloat16": llama_cpp.LLAMA_FTYPE_MOSTLY_BF16,
    "int8": llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0,
    "int4": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_0,
}


def convert(source: str, directory: str, precision: str) -> None:
    """Writes `model.gguf`.

    Raises:
        RuntimeError: The engine could not quantize it.
    """
    Path(directory).mkdir()
    path = Path(directory) / FILE
    if precision == "float32":
        write_gguf(Path(source), path)
        return
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = _KINDS[precision]
    with tempfile.TemporaryDirectory(dir=directory) as temporary:
        exact = Path(temporary) / FILE
        write_gguf(Path(source), exact)
        files = (str(exact).encode(), str(path).encode())
        if llama_cpp.llama_model_quantize(*files, ctypes.byref(parameters)):
            raise RuntimeError(f"llama.cpp could not quantize {source} in {precision}.")


if __name__ == "__main__":
    convert(*sys.argv[1:])
