"""Measures whether the placeholders and tags of messages survive translation, and what that costs.

    python benchmarks/messages.py exported/l10n test.tsv.gz test_unseen.tsv.gz

The ways: the artefact's own profile (or `--markup`); everything as text; and what people do by
hand, numbers in the place of spans. A translation keeps the spans if it has each as often as its
source, byte for byte, and no other.
"""

import argparse
import dataclasses
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from driver import count, figures, parser_of, publish, table, tell
from speed.machine import describe_machine
from tagged.messages import judge_messages
from tagged.numbers import by_numbers

from keras_transformer import read_tsv
from keras_transformer.export import OnnxTranslator
from keras_transformer.markup.profiles import pattern_of
from keras_transformer.translation.by_sentence import SentenceTranslator

_PACKAGES = ("onnxruntime", "numpy", "sentencepiece")


def run(given: argparse.Namespace, result: dict) -> None:
    """Adds the figures as they are measured."""
    pairs = read_tsv(given.tests)
    own, plain = (
        partial(
            SentenceTranslator(OnnxTranslator(given.artefact, threads=1, markup=name)).translate,
            beam_size=given.beam_size,
            max_length=given.max_length,
        )
        for name in (given.markup, "plain")
    )
    ways: dict[str, Callable[[list[str]], list[str]]] = {
        "spans": own,
        "as text": plain,
        "numbers": lambda texts: by_numbers(texts, plain, pattern_of("auto")),
    }
    result["messages"] = len(pairs.source)
    for name, translate in ways.items():
        translate(pairs.source[:20])
        begin = time.process_time()
        found = translate(list(pairs.source))
        seconds = time.process_time() - begin
        judged = judge_messages(pairs.source, pairs.target, found, seconds)
        result["ways"][name] = dataclasses.asdict(judged)
        tell(f"{name}: {result['ways'][name]}")


def report(result: dict) -> str:
    """Writes the figures as a table."""
    heads = ["way", "spans kept", "BLEU with spans", "BLEU without spans", "seconds"]
    rows = [
        [
            name,
            f"{one['kept']:,} of {one['with_spans']:,}",
            f"{one['bleu']:.1f}",
            f"{one['bleu_plain']:.1f}",
            f"{one['seconds']:.1f}",
        ]
        for name, one in result["ways"].items()
    ]
    return f"{result['messages']:,} messages.\n\n{table(heads, rows)}"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = parser_of(__doc__.splitlines()[0], "json")
    parser.add_argument("artefact", type=Path, help="ONNX artefact.")
    parser.add_argument("tests", nargs="+", type=Path, help="Pairs, a tab between both sides.")
    parser.add_argument("--markup", help="Profile; the artefact's own by default.")
    parser.add_argument("--beam-size", type=count, default=4)
    parser.add_argument("--max-length", type=count, default=128)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    given = parse(arguments)
    with figures(__file__, given.json, machine=describe_machine(_PACKAGES), ways={}) as result:
        run(given, result)
    publish(report(result), given.json)


if __name__ == "__main__":
    main()
