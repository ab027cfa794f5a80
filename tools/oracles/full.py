"""Compares whole runs of ours with what the toolkits of others computed: takes folders with a
`reference.json`, best of a thousand sentences, and prints a row of a table for each model and
target.

    python -m tools.oracles.translators FOLDER --sentences 1000   # where PyTorch is
    python -m tools.oracles.full FOLDER                           # where this package is

A row counts sentences of which greedy search and four beams give their ids, and has the largest
difference of the log-probability of a given translation in nats. Of a SavedModel, which holds one
search, a sample is translated.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer import OnnxTranslator, Translator
from keras_transformer.export import export_onnx, export_saved_model
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.translation.translator import TextTranslator
from tools.oracles.sizes import BEAMS

SAMPLE = 100
TARGETS = ("portable", "onnxruntime", "native")
HEADING = """| model | target | sentences | greedy | 4 beams | largest difference |
|---|---|---|---|---|---|"""
Ids = list[list[int]]


class Given(NamedTuple):
    """A model of ours, read of a folder, and what theirs made of sentences."""

    model: Any
    source: Any
    target: Any
    reference: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Given":
        """Reads a folder."""
        reference = json.loads((path / "reference.json").read_text(encoding="utf-8"))
        imported = read_pretrained(path).between(None, reference.get("target_language"))
        return cls(imported.build(), *imported.tokenizers, reference)

    @property
    def limits(self) -> dict[str, Any]:
        """The options of a search that ends where theirs did."""
        limits = {"length_penalty": 0.0, "early_stopping": "exact", "min_length": 0}
        if "max_length" in self.reference:
            return {**limits, "max_length": self.reference["max_length"]}
        ratio = self.reference["max_length_ratio"]
        longest = max(map(len, self.reference["source_ids"]))
        return {**limits, "max_length": ratio * longest, "max_length_ratio": float(ratio)}

    def without_ends(self, rows: Sequence[Sequence[int]]) -> Ids:
        """Returns rows of ids until the end of each."""
        eos = self.model.config.special_ids.eos
        return [list(row[: row.index(eos)] if eos in row else row) for row in map(list, rows)]


class Answers(NamedTuple):
    """What an engine made of the first sentences of a reference."""

    log_probabilities: Sequence[float]
    searched: dict[int, Ids]


def of_translator(translator: TextTranslator, given: Given, beams: Sequence[int]) -> Answers:
    """Returns what one of our translators makes of all sentences."""
    sources, targets = given.reference["sources"], given.reference["targets"]
    scores = [one.log_probability for one in translator.score(sources, targets)]
    searched = {}
    for beam_size in beams:
        found = translator.translate_n_best(sources, beam_size=beam_size, **given.limits)
        searched[beam_size] = [hypotheses[0].ids for hypotheses in found]
    return Answers(scores, searched)


def of_saved_model(given: Given, beams: Sequence[int], work: Path) -> Answers:
    """Returns what a SavedModel makes of the first sentences."""
    tokenizers = {"tokenizer": given.source, "target_tokenizer": given.target}
    sources, targets = (
        _padded(tokenizer.encode(given.reference[f"{side}s"][:SAMPLE]), given)
        for side, tokenizer in (("source", given.source), ("target", given.target))
    )
    scores, searched = np.zeros(0), {}
    for beam_size in beams or BEAMS[:1]:
        path = work / f"saved_model_{beam_size}"
        search = {**given.limits, "beam_size": beam_size}
        export_saved_model(given.model, path, signatures="ids", **tokenizers, **search)
        signatures = tf.saved_model.load(str(path / "1")).signatures
        found = signatures["translate_ids"](source_ids=sources)["ids"].numpy()
        if beams:
            pad = given.model.config.special_ids.pad
            searched[beam_size] = [[token for token in row if token != pad] for row in found]
        scored = signatures["score"](source_ids=sources, target_ids=targets)
        scores = scored["log_probability"].numpy()
    return Answers(scores.tolist(), searched)


def _padded(rows: Ids, given: Given) -> Any:
    pad = given.model.config.special_ids.pad
    return tf.ragged.constant(rows, dtype=tf.int32).to_tensor(pad)


def compared(path: Path) -> Iterator[str]:
    """Yields the table's rows of one folder."""
    given = Given.read(path)
    beams = [size for size in BEAMS if f"beam_{size}" in given.reference]
    in_keras = Translator(given.model, given.source, given.target)
    yield row(path.name, "Keras", given, of_translator(in_keras, given, beams))
    with tempfile.TemporaryDirectory() as directory:
        for target in TARGETS:
            exported = Path(directory) / target
            tokenizers = {"target_tokenizer": given.target, "target": target}
            export_onnx(given.model, given.source, exported, **tokenizers)
            with OnnxTranslator(exported, threads=1) as translator:
                yield row(path.name, target, given, of_translator(translator, given, beams))
        answers = of_saved_model(given, beams, Path(directory))
        yield row(path.name, "SavedModel", given, answers)


def row(name: str, target: str, given: Given, answers: Answers) -> str:
    """Returns a row of the table."""
    theirs = given.reference["log_probabilities"][: len(answers.log_probabilities)]
    difference = np.abs(np.subtract(answers.log_probabilities, theirs)).max()
    equal = [_equal(given, answers, beam_size) for beam_size in BEAMS]
    return f"| {' | '.join([name, target, str(len(theirs)), *equal, f'{difference:.6f}'])} |"


def _equal(given: Given, answers: Answers, beam_size: int) -> str:
    if beam_size not in answers.searched:
        return "–"
    found = answers.searched[beam_size]
    theirs = given.without_ends(given.reference[f"beam_{beam_size}"][: len(found)])
    return str(sum(ours == one for ours, one in zip(found, theirs, strict=True)))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="only these models")
    options = parser.parse_args()
    found = options.folder.glob("*/reference.json")
    print(HEADING)
    for name in options.names or sorted(path.parent.name for path in found):
        for line in compared(options.folder / name):
            print(line, flush=True)


if __name__ == "__main__":
    main()
