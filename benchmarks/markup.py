"""Measures whether tags come back into translations, where, and how much longer that takes.

    python benchmarks/markup.py exported/captions --train train.en train.de --test test.en test.de
    python benchmarks/markup.py … --marian exported/marian --bergamot-python ../bergamot/bin/python

Tags stand around up to three words or phrases of a test source each, whose place in the reference
is known: two aligners that know nothing of the model, one for either direction, agree on it. A tag
is in its place if it holds just the words that it holds in the reference; counted are those that
the translation holds once. The ways: `--markup html`, by slots or by attention; tags as text; what
people do by hand, numbers in the place of tags; and the HTML mode of Bergamot, with the same model
as `export --format marian` wrote it, in int8. Its package needs Python 3.10 or an older one.
"""

import argparse
import dataclasses
import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import sacrebleu
from driver import count, figures, measure_turns, parser_of, publish, table, tell
from marian.engine import Setting, TextEngine
from speed.machine import describe_machine
from speed.processes import Worker
from tagged.fragments import Fragment, fragments, is_nested, is_whole, places, without_tags
from tagged.word_links import word_links

from keras_transformer import read_parallel
from keras_transformer.export import OnnxTranslator
from keras_transformer.translation.by_sentence import SentenceTranslator

_PACKAGES = ("onnxruntime", "numpy", "sentencepiece")
_ANY_TAG = re.compile(r"</?[abi]\b[^<>]*>")
_FIRST_NUMBER = 1001
# Far more than a translation has.
_RATIO = 3.0


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


def by_numbers(texts: Sequence[str], translate: Callable[[list[str]], list[str]]) -> list[str]:
    """Translates texts with numbers in the place of their tags."""
    masked, tags = [], []
    for text in texts:
        numbers = itertools.count(_FIRST_NUMBER)
        tags.append({str(n): tag for n, tag in zip(numbers, _ANY_TAG.findall(text), strict=False)})
        left = iter(tags[-1])
        masked.append(" ".join(_ANY_TAG.sub(lambda _: f" {next(left)} ", text).split()))
    return [
        re.sub(r" ?(\d{4}) ?", lambda found: own.get(found[1], found[0]), text)
        for text, own in zip(translate(masked), tags, strict=True)
    ]


class Ours(TextEngine):
    """An artefact on one thread, with a profile of spans or without."""

    def __init__(self, artefact: Path, markup: str) -> None:
        opened = OnnxTranslator(artefact, threads=1, markup=markup)  # type: ignore[arg-type]
        self._translator = SentenceTranslator(opened)

    def load(self, folder: str, setting: list) -> None:
        """Is open already."""

    def run(self, texts: list[str]) -> list[str]:
        """Translates greedily."""
        return self._translator.translate(texts)

    def ask(self, do: str, **arguments: object) -> object:
        """Calls a method, as a `Worker` does."""
        return getattr(self, do)(**arguments)

    def settle(self) -> None:
        """Is idle between calls."""


def speed(given: argparse.Namespace, tagged: Sequence[Fragment]) -> list[float]:
    """Returns how fast fragments are translated, relative to the same texts without tags, in turns
    of processor time.
    """
    engines = {name: Ours(given.artefact, name) for name in ("html", "plain")}
    texts = {"html": [one.html for one in tagged], "plain": [one.text for one in tagged]}
    for name, engine in engines.items():
        engine.measure = lambda batch, times, own=engine, name=name: TextEngine.measure(  # type: ignore
            own, texts[name], batch, times
        )
    _, cpu = measure_turns(engines, {"batch": len(tagged)}, given.repeats)
    return [plain / html for html, plain in zip(cpu["html"], cpu["plain"], strict=True)]


def run(given: argparse.Namespace, result: dict) -> None:
    """Adds the figures as they are measured."""
    train, test = read_parallel(*given.train), read_parallel(*given.test)
    both = [[*test.source, *train.source], [*test.target, *train.target]]
    links = word_links(*both)[: len(test.source)]
    known = list(fragments(test.source, test.target, links, given.seed))[: given.fragments]
    by_text = dict(zip(test.source, test.target, strict=True))
    references = [by_text[one.text] for one in known]
    texts = [one.html for one in known]
    html, plain = (Ours(given.artefact, name) for name in ("html", "plain"))
    ways: dict[str, Callable[[], list[str]]] = {
        "`--markup html`": lambda: html.run(texts),
        "tags as text": lambda: plain.run(texts),
        "numbers": lambda: by_numbers(texts, plain.run),
    }
    if given.bergamot_python:
        ways["Bergamot"] = lambda: _bergamot(given, texts)
    for name, translate in ways.items():
        result["ways"][name] = dataclasses.asdict(judge(known, translate(), references))
        tell(f"{name}: {result['ways'][name]}")
    result["fragments"] = len(known)
    result["speed"] = speed(given, known)


def _bergamot(given: argparse.Namespace, texts: list[str]) -> list[str]:
    with Worker("marian.engines.browser", python=given.bergamot_python, name="bergamot") as peer:
        peer.ask("load", folder=str(given.marian), setting=list(Setting(False, 1, _RATIO)))
        found: list[str] = peer.ask("run", texts=texts, html=True)
        return found


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
        f"{result['fragments']:,} fragments; with tags {median(speeds):.2f} times the speed without "
        f"({min(speeds):.2f} to {max(speeds):.2f}).\n\n{table(heads, rows)}"
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = parser_of(__doc__.splitlines()[0], "repeats", "json", repeats=5)
    parser.add_argument("artefact", type=Path, help="ONNX artefact.")
    parser.add_argument("--train", nargs=2, required=True, type=Path, help="To learn links from.")
    parser.add_argument("--test", nargs=2, required=True, type=Path, help="To tag and translate.")
    parser.add_argument("--fragments", type=count, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--marian", type=Path, help="The same model, as Marian has it.")
    parser.add_argument("--bergamot-python", help="Interpreter that has bergamot.")
    given = parser.parse_args(arguments)
    if bool(given.marian) != bool(given.bergamot_python):
        parser.error("--marian and --bergamot-python go together")
    return given


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    given = parse(arguments)
    with figures(__file__, given.json, machine=describe_machine(_PACKAGES), ways={}) as result:
        run(given, result)
    publish(report(result), given.json)


if __name__ == "__main__":
    main()
