"""Measures whether tags come back into translations, where, and how much longer that takes.

    python benchmarks/markup.py exported/captions --train train.en train.de --test test.en test.de

Tags stand around up to three words or phrases of a test source each, whose place in the reference
is known: two aligners that know nothing of the model, one for either direction, agree on it. A tag
is in its place if it holds just the words that it holds in the reference; counted are those that
the translation holds once. The ways: `--markup html`, by slots or by attention; tags as text; and
what people do by hand, numbers in the place of tags.
"""

import argparse
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import sacrebleu
from driver import count, figures, in_turns, parser_of, publish, table, tell
from speed.machine import describe_machine
from tagged.fragments import Fragment, fragments, is_nested, is_whole, places, without_tags
from tagged.numbers import by_numbers

from keras_transformer import read_parallel
from keras_transformer.export import OnnxTranslator
from keras_transformer.markup.soft_terms.word_links import word_links, words_in
from keras_transformer.translation.by_sentence import SentenceTranslator

_PACKAGES = ("onnxruntime", "numpy", "sentencepiece")
Translate = Callable[[list[str]], list[str]]


@dataclasses.dataclass(frozen=True)
class Way:
    """How one way did.

    Attributes:
        kept: Share of the fragments with each tag once.
        nested: Share in which a parser finds elements nested.
        placed: Share of the elements in their place, of those whose words are there.
        counted: How many these are.
        bleu: Of the texts without tags.
    """

    kept: float
    nested: float
    placed: float
    counted: int
    bleu: float


def judge(tagged: Sequence[Fragment], found: Sequence[str], references: Sequence[str]) -> Way:
    """Looks at the translations of fragments."""
    pairs = list(zip(tagged, found, strict=True))
    right = [is_right for pair in pairs for _, is_right in places(*pair)]
    texts = [without_tags(one) for one in found]
    return Way(
        sum(is_whole(*pair) for pair in pairs) / len(pairs),
        sum(map(is_nested, found)) / len(pairs),
        sum(right) / max(1, len(right)),
        len(right),
        sacrebleu.corpus_bleu(texts, [references]).score,
    )


def speed(
    translators: Mapping[str, Translate], tagged: Sequence[Fragment], rounds: int
) -> list[float]:
    """Returns how fast fragments are translated in each round, relative to the same texts without
    tags, in turns of processor time.
    """
    texts = {"html": [one.html for one in tagged], "plain": [one.text for one in tagged]}

    def turn(name: str) -> float:
        begin = time.process_time()
        translators[name](texts[name])
        return time.process_time() - begin

    seconds = in_turns(turn, texts, rounds + 1)  # The first only warms up.
    return [plain / html for html, plain in list(zip(*seconds.values(), strict=True))[1:]]


def run(given: argparse.Namespace, result: dict) -> None:
    """Adds the figures as they are measured."""
    train, test = read_parallel(*given.train), read_parallel(*given.test)
    both = [[*test.source, *train.source], [*test.target, *train.target]]
    links = word_links(*([words_in(text) for text in side] for side in both))[: len(test.source)]
    known = list(fragments(test.source, test.target, links, given.seed))[: given.fragments]
    by_text = dict(zip(test.source, test.target, strict=True))
    references = [by_text[one.text] for one in known]
    texts = [one.html for one in known]
    translators = {
        name: partial(
            SentenceTranslator(OnnxTranslator(given.artefact, threads=1, markup=name)).translate,
            beam_size=given.beam_size,
        )
        for name in ("html", "plain")
    }
    html, plain = translators.values()
    ways: dict[str, Callable[[], list[str]]] = {
        "`--markup html`": lambda: html(texts),
        "tags as text": lambda: plain(texts),
        "numbers": lambda: by_numbers(texts, plain),
    }
    for name, translate in ways.items():
        result["ways"][name] = dataclasses.asdict(judge(known, translate(), references))
        tell(f"{name}: {result['ways'][name]}")
    result["fragments"] = len(known)
    result["speed"] = speed(translators, known, given.repeats)


def report(result: dict) -> str:
    """Writes the figures as a table."""
    heads = ["way", "each tag once", "nested", "in its place", "BLEU without tags"]
    rows = [
        [
            name,
            f"{one['kept']:.1%}",
            f"{one['nested']:.1%}",
            f"{one['placed']:.1%} of {one['counted']:,}",
            f"{one['bleu']:.1f}",
        ]
        for name, one in result["ways"].items()
    ]
    speeds = result["speed"]
    return (
        f"{result['fragments']:,} fragments; speed with tags {median(speeds):.2f} of that without "
        f"({min(speeds):.2f} to {max(speeds):.2f}).\n\n{table(heads, rows)}"
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = parser_of(__doc__.splitlines()[0], "repeats", "json", repeats=5)
    parser.add_argument("artefact", type=Path, help="ONNX artefact.")
    parser.add_argument("--train", nargs=2, required=True, type=Path, help="To learn links from.")
    parser.add_argument("--test", nargs=2, required=True, type=Path, help="To tag and translate.")
    parser.add_argument("--fragments", type=count, default=1000)
    parser.add_argument("--beam-size", type=count, default=4)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    given = parse(arguments)
    with figures(__file__, given.json, machine=describe_machine(_PACKAGES), ways={}) as result:
        run(given, result)
    publish(report(result), given.json)


if __name__ == "__main__":
    main()
