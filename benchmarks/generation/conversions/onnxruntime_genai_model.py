"""Converts a decoder by onnxruntime-genai's own builder with its defaults for a CPU: 8 and 4 bits
in blocks of 32 weights, multiplied with rows in 8 bits.
"""

import subprocess
import sys
import tempfile

_NAMES = {"float32": "fp32"}


def convert(source: str, directory: str, precision: str) -> None:
    """Writes `model.onnx`, its weights and `genai_config.json`."""
    with tempfile.TemporaryDirectory() as cache:
        builder = [sys.executable, "-m", "onnxruntime_genai.models.builder"]
        places = ["--input", source, "--output", directory, "--cache_dir", cache]
        how = ["--precision", _NAMES.get(precision, precision), "--execution_provider", "cpu"]
        subprocess.run([*builder, *places, *how], check=True)


if __name__ == "__main__":
    convert(*sys.argv[1:])
