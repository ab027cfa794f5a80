"""`keras-transformer evaluate`: translates a source file and scores it with BLEU and chrF."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tqdm import tqdm

from keras_transformer.cli.artefact import RuntimeOptions, open_translator
from keras_transformer.cli.families import require_family
from keras_transformer.cli.flags.pair_files import PairFileOptions
from keras_transformer.cli.flags.search import TITLE, read_search
from keras_transformer.cli.long_lines import LineOptions, places_taken
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.distribution import install_command
from keras_transformer.markup.casing import Casing
from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.terms import TermUse
from keras_transformer.noise.pairs import noisy_test_sets
from keras_transformer.search.options import SearchOptions
from keras_transformer.translation.by_sentence import OF_ONE_TEXT, SentenceTranslator
from keras_transformer.translation.translator import TextTranslator
from keras_transformer.whole_files import check_output, write_text

_BLOCK_LINES = 256
_LEFT_OUT = ("num_hypotheses", "require", *OF_ONE_TEXT)


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(PairFileOptions):
    """The test set and the form of the result.

    Args:
        source: Text file to translate, one sentence a line, plain or .gz; or, with --data tsv, po,
            xliff or tmx, a file that holds texts beside their translations.
        reference: Text file with the reference translations, line by line; with --data text.
        output: Also write the translations to this file; missing folders are created.
        markup: Profile of the spans that translations keep; the run's if not given, "plain" for
            none.
        glossary: File of terms, as for `translate`.
        terms: As for `translate`.
        casing: As for `translate`.
        noise: Score the test set also in capitals, with typos, without end punctuation, with emoji
            and with numbers, which shows how much a model loses on such texts.
        json: Print the result as one JSON object.
        **pair_file_fields: Fields of `PairFileOptions`.
    """

    source: Path
    reference: Path | None = None
    output: Path | None = None
    markup: Profile | None = None
    glossary: Path | None = None
    terms: TermUse | None = None
    casing: Casing = "auto"
    noise: bool = False
    json: bool = False

    def __post_init__(self) -> None:
        self.check_data(self.reference, "--reference")


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    parser = build_parser()
    given = parser.parse(arguments)
    options = read_fields(given, EvaluateOptions)
    require_family(given.model, "encoder-decoder", judges=True)
    search = read_search(parser, arguments, given.model, skip=_LEFT_OUT)
    if find_spec("sacrebleu") is None:  # told now, not after minutes of translating
        raise ImportError(f"evaluate needs sacrebleu: install it with `{install_command('cli')}`.")
    if options.output is not None:
        check_output(options.output, is_directory=False)
    sources, references = _read_test_set(options)
    lines = LineOptions(
        markup=options.markup,
        glossary=options.glossary,
        terms=options.terms,
        casing=options.casing,
    )
    translator = open_translator(given.model, read_fields(given, RuntimeOptions), lines)
    started = time.perf_counter()
    hypotheses = list(_translate(translator, sources, search))
    seconds = time.perf_counter() - started
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        write_text(options.output, "".join(f"{line}\n" for line in hypotheses))
    result = _score(hypotheses, references) | {"sentences": len(sources), "seconds": seconds}
    if options.noise:
        result["noise"] = {
            kind: _score(list(_translate(translator, noisy, search)), wanted)
            for kind, noisy, wanted in noisy_test_sets(sources, references)
        }
    print(json.dumps(result, ensure_ascii=False) if options.json else _report(result))
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    about = "Translate a test set and score it (sacreBLEU, chrF)."
    parser = CommandParser.of_model("evaluate", about)
    parser.add_fields(EvaluateOptions, title="test set and result")
    parser.add_fields(RuntimeOptions, title="runtime")
    parser.add_fields(SearchOptions, title=TITLE, skip=_LEFT_OUT)
    return parser


def _read_test_set(options: EvaluateOptions) -> tuple[list[str], list[str]]:
    """Returns both sides of the test set; of a TSV or CSV file without pairs that lack one."""
    pairs = options.read_pairs(options.source, options.reference)
    if options.data != "tsv":
        return list(pairs.source), list(pairs.target)
    both = list(zip(pairs.source, pairs.target, strict=True))
    whole = [pair for pair in both if all(map(str.strip, pair))]
    if not whole:
        raise ValueError(f"{options.source} has no pair of texts: check --target-column.")
    if len(whole) < len(both):
        left_out = f"{len(both) - len(whole):,} pairs with an empty side are left out"
        print(f"{options.source}: {left_out}", file=sys.stderr)
    return [source for source, _ in whole], [target for _, target in whole]


def _translate(
    translator: TextTranslator | SentenceTranslator, sources: list[str], search: SearchOptions
) -> Iterator[str]:
    """Yields translations block by block, with a progress bar at a terminal."""
    settings = asdict(search)
    settings.pop("num_hypotheses")
    done = 0
    hidden = not sys.stderr.isatty()
    with tqdm(total=len(sources), unit="line", desc="translate", disable=hidden) as progress:
        for start in range(0, len(sources), _BLOCK_LINES):
            block = sources[start : start + _BLOCK_LINES]
            if search.sample:
                settings["first_place"] = done
                done += places_taken(translator, block)
            yield from translator.translate(block, **settings)
            progress.update(len(block))


def _score(hypotheses: list[str], references: list[str]) -> dict[str, Any]:
    from keras_transformer.evaluation import corpus_scores, exact_match

    scores = corpus_scores(hypotheses, references)
    return {
        "bleu": scores.bleu,
        "bleu_signature": scores.bleu_signature,
        "chrf": scores.chrf,
        "chrf_signature": scores.chrf_signature,
        "exact_match": exact_match(hypotheses, references),
    }


def _report(result: dict) -> str:
    rate = result["sentences"] / max(result["seconds"], 1e-9)
    return (
        f"BLEU         {result['bleu']:.2f}  {result['bleu_signature']}\n"
        f"chrF         {result['chrf']:.2f}  {result['chrf_signature']}\n"
        f"exact match  {100 * result['exact_match']:.1f} %\n"
        f"sentences    {result['sentences']} in {result['seconds']:.1f} s ({rate:.0f} a second)"
        + (_table(result) if "noise" in result else "")
    )


def _table(result: dict) -> str:
    rows = {"clean": result, **result["noise"]}
    lines = [f"{name:<12} {one['bleu']:5.2f}  {one['chrf']:5.2f}" for name, one in rows.items()]
    return "\n\n" + "\n".join([f"{'':<12}  BLEU   chrF", *lines])
