"""Measures how often translations use the terms of a list, and what that costs.

    python benchmarks/terms.py exported/l10n terms.tsv test.tsv.gz

The ways: without the list, and with hard terms, soft ones and both, the latter by models that were
trained with soft terms. Counted are the messages that hold a term of the list, and of their terms
those that the reference has in some form.
"""

import argparse
import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

from driver import count, figures, parser_of, publish, table, tell
from speed.machine import describe_machine
from tagged.terms import judge_terms, terms_of

from keras_transformer import read_tsv
from keras_transformer.export import OnnxTranslator
from keras_transformer.markup.terms import Glossary

_PACKAGES = ("onnxruntime", "numpy", "sentencepiece")
WAYS = ("without", "hard", "soft", "both")


def run(given: argparse.Namespace, result: dict) -> None:
    """Adds the figures as they are measured."""
    glossary, pairs = Glossary.read(given.glossary), read_tsv(given.tests)
    known = [(terms_of(source, glossary), source) for source in pairs.source]
    chosen = [
        (own, source, target)
        for (own, source), target in zip(known, pairs.target, strict=True)
        if own
    ]
    terms, sources, references = zip(*chosen, strict=True)
    result |= {"listed": len(glossary.terms), "messages": len(sources)}
    for way in given.ways:
        listed = {} if way == "without" else {"glossary": glossary, "terms": way}
        translator = OnnxTranslator(given.artefact, 1, long_texts="cut", **listed)
        search = {"beam_size": given.beam_size, "max_length": given.max_length}
        translator.translate(sources[:20], **search)
        begin = time.process_time()
        found = translator.translate(sources, **search)
        judged = judge_terms(terms, references, found, time.process_time() - begin)
        result["ways"][way] = dataclasses.asdict(judged)
        tell(f"{way}: {result['ways'][way]}")


def report(result: dict) -> str:
    """Writes the figures as a table."""
    heads = ["terms", "used in any form", "as listed", "BLEU", "chrF", "seconds"]
    rows = [
        [
            way,
            f"{one['used']:,} of {one['wanted']:,}",
            f"{one['exact']:,}",
            f"{one['bleu']:.1f}",
            f"{one['chrf']:.1f}",
            f"{one['seconds']:.1f}",
        ]
        for way, one in result["ways"].items()
    ]
    size = f"{result['messages']:,} messages with terms of a list of {result['listed']:,}."
    return f"{size}\n\n{table(heads, rows)}"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = parser_of(__doc__.splitlines()[0], "json")
    parser.add_argument("artefact", type=Path, help="ONNX artefact.")
    parser.add_argument("glossary", type=Path, help="List of terms.")
    parser.add_argument("tests", nargs="+", type=Path, help="Pairs, a tab between both sides.")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
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
