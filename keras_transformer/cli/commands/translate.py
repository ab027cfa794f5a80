"""`keras-transformer translate`: translates lines of standard input, block by block, in order."""

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from keras_transformer.cli.alignments import AligningTranslator
from keras_transformer.cli.artefact import RuntimeOptions, open_translator
from keras_transformer.cli.flags.search import TITLE, read_search
from keras_transformer.cli.input_lines import (
    Prefixes,
    answer_before_error,
    read_blocks,
    read_paragraphs,
    standard_input,
)
from keras_transformer.cli.json_answers import JsonAnswers, hypothesis_values
from keras_transformer.cli.long_lines import LineOptions, describe, places_taken
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.search.confidence import check_min_score
from keras_transformer.search.model_limits import TooLongError
from keras_transformer.search.named_ids import PrefixError
from keras_transformer.search.options import Hypothesis, SearchOptions
from keras_transformer.translation.by_sentence import OF_ONE_TEXT, SentenceTranslator
from keras_transformer.translation.translator import TextTranslator

# Most lines of low confidence that are named where scores were not asked for.
_SHOWN = 10
_NOTHING = Hypothesis("", [], float("-inf"), float("-inf"))


@dataclass(frozen=True, kw_only=True)
class TranslateOptions:
    """How lines are read and written.

    Args:
        block_lines: Lines read and translated at once: more is faster, fewer answer sooner. At a
            terminal every line is translated immediately.
        join_lines: Join the lines of wrapped paragraphs, as in e-mail: each paragraph gives one
            line of output, and messages count paragraphs. They end at blank lines, entries of
            lists, deeper quotes (">") or indents; hyphenated words are joined.
        scores: Put the score (sum of log-probabilities over the length penalty) and a tab before
            each translation.
        min_score: Name on standard error the lines whose best translation has a lower mean
            log-probability per token than this; by default the threshold that training calibrated.
            Without --scores and this flag, greedy search computes no scores, and the command names
            the first ten lines whose translations repeat themselves, were cut, or are far too long
            or short.
        target_prefix: Text that every translation begins with, in whole words.
        target_prefixes: File with the text that each translation begins with, line by line with the
            input; an empty line for none.
        alignments: Put a tab and the word alignment after each translation: pairs of a source word
            and the target word that comes from it, words separated by spaces and counted from 0
            (Pharaoh's format, 0-0 1-2).
        replace_unk: Replace each unknown token with the source word to which it attends most (one
            translation a line, without scores and alignments).
        jsonl: Read a JSON object a line, its text under "text", and write it again with the
            translations, their scores and ids under "hypotheses".
    """

    block_lines: int = 256
    join_lines: bool = False
    scores: bool = False
    min_score: float | None = None
    target_prefix: str = ""
    target_prefixes: Path | None = None
    alignments: bool = False
    replace_unk: bool = False
    jsonl: bool = False

    def __post_init__(self) -> None:
        check_min_score(self.min_score)
        if self.block_lines < 1:
            raise ValueError(f"block_lines must be at least 1, got {self.block_lines}.")
        if self.jsonl and (self.join_lines or self.replace_unk):
            raise ValueError(
                "--jsonl cannot be used with --join-lines or --replace-unk, since each line has "
                "its own text and scores: leave out both."
            )
        if self.join_lines and self.target_prefixes:
            raise ValueError(
                "--target-prefixes needs a prefix for each line, but --join-lines joins lines: "
                "leave one of the two out."
            )
        if self.target_prefix and self.target_prefixes:
            raise ValueError(
                "--target-prefix gives one prefix for all lines, --target-prefixes one for each "
                "line: give only one of the two."
            )
        if self.replace_unk and (self.has_scores or self.alignments):
            raise ValueError(
                "--replace-unk writes translations only: leave out --scores, --min-score and "
                "--alignments."
            )

    @property
    def has_scores(self) -> bool:
        """Whether scores are wanted with the translations."""
        return self.scores or self.min_score is not None


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    parser = build_parser()
    given = parser.parse(arguments)
    options = read_fields(given, TranslateOptions)
    search = read_search(parser, arguments, given.model, skip=OF_ONE_TEXT)
    lines = read_fields(given, LineOptions)
    if options.replace_unk and search.num_hypotheses > 1:
        raise ValueError("--replace-unk gives one translation a line: leave out --num-hypotheses.")
    stream = standard_input("translate")
    runtime = read_fields(given, RuntimeOptions)
    prefixes = Prefixes(options.target_prefix, options.target_prefixes)
    translator = open_translator(given.model, runtime, lines, min_score=options.min_score)
    aligning = AligningTranslator(translator) if options.alignments else None
    job = _Job(translator, search, options, aligning)
    block_lines = 1 if sys.stdin.isatty() else options.block_lines
    read: Any = read_paragraphs if options.join_lines else read_blocks
    read = job.as_json.read if options.jsonl else read
    try:
        _translate_input(job, read(stream, block_lines), prefixes, lines)
    finally:  # what was written before an error is told all the same
        job.tell_doubtful_lines()
    return 0


class _Job:
    """Translates blocks of lines, writes the translations and remembers lines of low confidence.

    Args:
        translator: What translates.
        search: The search.
        options: How lines are written.
        aligning: What translates if alignments are wanted.

    Attributes:
        done: How many lines were translated and written.
        as_json: How JSON lines are read and written.
    """

    def __init__(
        self,
        translator: TextTranslator | SentenceTranslator,
        search: SearchOptions,
        options: TranslateOptions,
        aligning: AligningTranslator | None,
    ) -> None:
        self.translator = translator
        self.done = 0
        self.as_json = JsonAnswers(answer=self._values, writes=("hypotheses",))
        self._search = search
        self._options = options
        self._aligning = aligning
        # Greedy search is faster without scores; signs of babble need none.
        self._with_scores = options.has_scores or options.jsonl or aligning is not None
        self._doubtful: list[int] = []
        self._places = 0
        self._begun: dict[str, Any] = {}

    def write(self, lines: Sequence[str], prefixes: Sequence[str] | None) -> None:
        """Translates the next lines, each with its prefix, and writes the translations."""
        self._begun = {"target_prefixes": prefixes} if prefixes else {}
        answer: Any = self.as_json.lines if self._options.jsonl else self._translate
        for line in answer(lines):
            sys.stdout.buffer.write(line.encode("utf-8") + b"\n")
        sys.stdout.buffer.flush()
        self.done += len(lines)
        if self._search.sample:
            self._places += places_taken(self.translator, lines)

    def tell_doubtful_lines(self) -> None:
        """Names the lines of low confidence on standard error, if there are any."""
        if self._doubtful:
            shown = self._doubtful if self._options.has_scores else self._doubtful[:_SHOWN]
            named = ", ".join(map(str, shown))
            if len(shown) < len(self._doubtful):
                named += ", ... (--scores names all)"
            count = f"{len(self._doubtful)} of {self.done} lines"
            print(f"low confidence in {count}: {named}", file=sys.stderr)

    def _translate(self, lines: Sequence[str]) -> Iterator[str]:
        """Yields `num_hypotheses` output lines for every input line, in order, best first."""
        for found in self._hypotheses(lines):
            # An empty line has one candidate only; empty lines keep the count of lines even.
            missing = self._search.num_hypotheses - len(found)
            yield from itertools.starmap(self._columns, [*found, *[(_NOTHING, "")] * missing])

    def _values(self, lines: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yields what is added to each JSON line."""
        for found in self._hypotheses(lines):
            rows = [
                hypothesis_values(one)
                | ({"alignment": alignment} if self._aligning is not None else {})
                for one, alignment in found
            ]
            yield {"hypotheses": rows}

    def _options_of_block(self) -> dict[str, Any]:
        options = {**asdict(self._search), **self._begun, "first_place": self._places}
        return options | ({"replace_unk": True} if self._options.replace_unk else {})

    def _hypotheses(self, lines: Sequence[str]) -> Iterator[list[tuple[Hypothesis, str]]]:
        """Yields the hypotheses of each line, each with its alignment, if that is wanted, and
        remembers lines of low confidence.
        """
        options = self._options_of_block() | {"return_scores": self._with_scores}
        found: Iterable[list[tuple[Hypothesis, str]]]
        if self._aligning is not None:
            found = self._aligning.translate(lines, self._search, **options)
        else:
            plain = self.translator.translate_n_best(lines, **options)
            found = ([(hypothesis, "") for hypothesis in hypotheses] for hypotheses in plain)
        for number, hypotheses in enumerate(found, start=self.done + 1):
            if hypotheses[0][0].low_confidence:
                self._doubtful.append(number)
            yield hypotheses

    def _columns(self, hypothesis: Hypothesis, alignment: str) -> str:
        text = _one_line(hypothesis.text)
        score = f"{hypothesis.score:.6f}\t" if self._options.scores else ""
        return f"{score}{text}" + (f"\t{alignment}" if self._aligning is not None else "")


def _translate_input(
    job: _Job, blocks: Iterable[Sequence[str]], prefixes: Prefixes, lines: LineOptions
) -> None:
    """Translates standard input block by block."""
    # Where translations appear on the same terminal, they are the progress.
    hidden = sys.stdout.isatty() or not sys.stderr.isatty()
    with tqdm(unit="line", desc="translate", disable=hidden) as progress:
        for block in blocks:
            done = job.done
            for number, tokens, read in lines.cut_lines(job.translator, block, done + 1):
                cut = f"was cut: it has {tokens} tokens, {read} are read."
                print(
                    f"keras-transformer translate: line {number} of the input {cut}",
                    file=sys.stderr,
                )
            begun = prefixes.next(len(block), done)
            _, refused = answer_before_error(job.write, block, begun)
            if refused is not None:
                raise _about_line(refused, done) from refused
            progress.update(len(block))
    prefixes.check_end(job.done)


def _about_line(error: ValueError, done: int) -> ValueError:
    """Returns the error about one of the lines after the first `done` with the line's number."""
    if isinstance(error, TooLongError):
        return ValueError(describe(error, done + error.index + 1))
    if isinstance(error, PrefixError):
        return ValueError(f"the prefix of line {done + error.index + 1} {error.reason}")
    return error


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser.of_model(
        "translate",
        "Translate standard input line by line: one line out per line in (or one per hypothesis "
        "with --num-hypotheses), empty lines kept.",
    )
    parser.add_fields(SearchOptions, title=TITLE, skip=OF_ONE_TEXT)
    parser.add_fields(TranslateOptions, title="lines")
    parser.add_fields(LineOptions, title="long lines")
    parser.add_fields(RuntimeOptions, title="runtime")
    return parser


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")
