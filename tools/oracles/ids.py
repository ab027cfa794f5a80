"""Compares the ids of strings with those of the toolkits that made the models: takes folders with a
`reference.json`, best of ten thousand strings, and prints a row of a table for each model.

    python -m tools.oracles.translators FOLDER --strings 10000    # where PyTorch is
    python -m tools.oracles.stacks FOLDER --strings 10000
    python -m tools.oracles.ids FOLDER                            # where this package is

Half of the strings are hostile. SavedModels read them by TensorFlow's operator, if there is one.
"""

import json
import sys
from pathlib import Path

from keras_transformer import GraphTokenizer
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.text.graph_tokenizer import can_be_read_in_graphs


def main() -> None:
    """Compares the folders below the one that the command line names."""
    print("| model | strings | equal ids | equal ids in a graph |\n|---|---|---|---|")
    for path in sorted(Path(sys.argv[1]).iterdir()):
        reference = json.loads((path / "reference.json").read_text(encoding="utf-8"))
        strings, expected = reference["hostile"], reference["hostile_ids"]
        tokenizer = read_pretrained(path).tokenizers[0]
        columns = [_count(tokenizer.encode(strings), expected), "–"]
        if can_be_read_in_graphs(tokenizer):
            rows = GraphTokenizer(tokenizer.model).tokenize(strings).to_list()
            columns[1] = _count(rows, expected)
        print(f"| {path.name} | {len(strings):,} | {' | '.join(columns)} |", flush=True)


def _count(rows: list[list[int]], expected: list[list[int]]) -> str:
    return f"{sum(row == other for row, other in zip(rows, expected, strict=True)):,}"


if __name__ == "__main__":
    main()
