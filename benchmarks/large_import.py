"""Measures time and memory of importing, exporting and running a large translator of others.

    python benchmarks/large_import.py --work DIRECTORY --json FILE

The model has the form of NLLB's with 600 million weights: 12 and 12 layers, 1,024 wide, 4,096
within feed-forward layers, 16 heads, 256,204 ids; its weights are random, and so are its
translations, of 64 tokens each. Each command runs as a process of its own, measured as in
`large_corpus.py`.
"""

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from driver import write_json
from large_corpus import measure
from safetensors.numpy import load_file, save_file

# A tiny model of the same form, with its tokenizer.
TINY = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "translators" / "nllb"
WEIGHTS = "model.safetensors"
TOKENS = 64
TEXT = "".join(f"Two dogs run over meadow number {number}.\n" for number in range(16))


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    options = parse(arguments)
    work = options.work
    original, run = work / "original", work / "run"
    write_model(original, vars(options))
    figures: dict[str, object] = {"original_bytes": size_of(original)}
    figures["import"] = measure(["import", str(original), "--output", str(run), "--overwrite"])
    figures["run_bytes"] = size_of(run)
    for precision in ("float32", "int8"):
        exported = work / precision
        quantize = ["--quantize", "int8"] if precision == "int8" else []
        export = ["export", str(run), "--format", "onnx", "--output", str(exported), *quantize]
        figures[f"export_{precision}"] = measure([*export, "--overwrite"])
        figures[f"{precision}_bytes"] = size_of(exported)
        lengths = ["--min-length", str(TOKENS), "--max-length", str(TOKENS)]
        figures[f"translate_{precision}"] = measure(["translate", str(exported), *lengths], TEXT)
    write_json(figures, options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="scratch directory")
    parser.add_argument("--layers", type=int, default=12, help="of the encoder and of the decoder")
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--ids", type=int, default=256_204)
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser.parse_args(arguments)


def write_model(directory: Path, sizes: dict[str, int]) -> None:
    """Writes the tiny model's files with other sizes and random weights."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(TINY, directory, ignore=shutil.ignore_patterns(WEIGHTS, "reference.json"))
    config = json.loads((directory / "config.json").read_text())
    tiny = {config["d_model"]: sizes["width"], config["encoder_ffn_dim"]: sizes["hidden"]}
    tiny[config["vocab_size"]] = sizes["ids"]
    changed = {"d_model": sizes["width"], "vocab_size": sizes["ids"]}
    for side in ("encoder", "decoder"):
        changed[f"{side}_layers"] = sizes["layers"]
        changed[f"{side}_attention_heads"] = sizes["heads"]
        changed[f"{side}_ffn_dim"] = sizes["hidden"]
    (directory / "config.json").write_text(json.dumps({**config, **changed}))
    random = np.random.default_rng(0)
    tensors = {}
    for name, shape in names_and_shapes(sizes["layers"]):
        wide = tuple(tiny[size] for size in shape)
        values = random.standard_normal(wide, np.float32) * np.float32(0.02)
        tensors[name] = values + (1 if name.endswith("norm.weight") else 0)
    save_file(tensors, directory / WEIGHTS)


def names_and_shapes(layers: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields the tiny model's tensors, those of its first layer as often as there are layers."""
    for name, values in load_file(TINY / WEIGHTS).items():
        if ".layers.0." in name:
            for layer in range(layers):
                yield name.replace(".layers.0.", f".layers.{layer}."), values.shape
        elif ".layers." not in name:
            yield name, values.shape


def size_of(directory: Path) -> int:
    """Returns the bytes of all files of a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
