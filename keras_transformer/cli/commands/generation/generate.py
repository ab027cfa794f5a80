"""`keras-transformer generate`: continues lines of standard input, block by block, in order."""

import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.flags.search import TITLE, read_search
from keras_transformer.cli.json_answers import JsonAnswers, hypothesis_values
from keras_transformer.cli.parser import CommandParser, flags_in_errors, read_fields
from keras_transformer.cli.text_lines import TextLineOptions, answer_lines, blocks_of_input
from keras_transformer.cli.text_models import open_generator
from keras_transformer.data.sources.files import read_lines
from keras_transformer.generation.engine import OF_TRANSLATION
from keras_transformer.generation.text_generator import TextGenerator
from keras_transformer.search.grammars import GRAMMARS
from keras_transformer.search.options import Hypothesis, SearchOptions


@dataclass(frozen=True, kw_only=True)
class GrammarOptions:
    """The grammar of each whole text, without its prompt.

    Args:
        json_schema: JSON schema that the text fulfils, or a file of it.
        regex: Regular expression that the text matches from beginning to end.
        choices: File of texts, one a line; the text is one of them.
    """

    json_schema: str | None = None
    regex: str | None = None
    choices: Path | None = None

    def search(self) -> dict[str, Any]:
        """Returns the fields of `SearchOptions` that they set.

        Raises:
            OSError: A file cannot be read.
            ValueError: A file is not UTF-8.
        """
        found: dict[str, Any] = {"regex": self.regex}
        if self.json_schema is not None:
            is_schema = self.json_schema.lstrip().startswith("{")
            found["json_schema"] = (
                self.json_schema if is_schema else "\n".join(read_lines(self.json_schema))
            )
        if self.choices is not None:
            found["choices"] = read_lines(self.choices)
        return found


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """The form of the output.

    Args:
        include_prompt: Begin each text with its prompt, unless it follows a grammar.
        scores: Put the score (sum of the new tokens' log-probabilities over the length penalty)
            and a tab before each text.
    """

    include_prompt: bool = True
    scores: bool = False


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    parser = build_parser()
    given = parser.parse(arguments)
    options = read_fields(given, GenerateOptions)
    search = read_search(parser, arguments, given.model, skip=(*OF_TRANSLATION, *GRAMMARS))
    with flags_in_errors(GrammarOptions):
        search = replace(search, **read_fields(given, GrammarOptions).search())
    lines, runtime = read_fields(given, TextLineOptions), read_fields(given, RuntimeOptions)
    generator = open_generator(given.model, runtime, **lines.limits)
    if search.grammar:
        with flags_in_errors(GrammarOptions):
            generator.check_grammar(search)
    prompts = _Prompts(generator, search, lines)
    streams = sys.stdout.isatty() and not options.scores and not lines.jsonl
    streams &= search.grammar is None
    if streams and search.beam_size == search.num_hypotheses == 1:
        with flags_in_errors(SearchOptions):
            _stream_lines(prompts, options, lines)
        return 0

    def answer(block: list[str]) -> Iterator[str]:
        settings = prompts.settings(options)
        if search.num_hypotheses == 1 and not options.scores and not search.grammar:
            # Where no score is wanted, greedy search spares the softmax.
            yield from generator.generate(block, **settings)
        else:
            for found in generator.generate_n_best(block, **settings):
                prompts.check_whole(found)
                for one in found:
                    yield f"{one.score:.6f}\t{one.text}" if options.scores else one.text
                # Empty lines keep the count of lines even.
                missing = search.num_hypotheses - len(found)
                yield from ["-inf\t" if options.scores else ""] * missing
        prompts.finish(block)

    def values(block: list[Any]) -> Iterator[dict[str, Any]]:
        for found in generator.generate_n_best(block, **prompts.settings(options)):
            prompts.check_whole(found)
            yield {"hypotheses": list(map(hypothesis_values, found))}
        prompts.finish(block)

    as_json = JsonAnswers(answer=values, writes=("hypotheses",))
    with flags_in_errors(SearchOptions):
        answer_lines("generate", prompts, lines, answer, as_json, blank_lines_are_texts=True)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser.of_model(
        "generate",
        "Continue the lines of standard input: one line out per line in (or one per hypothesis "
        "with --num-hypotheses). --max-length and --min-length count new tokens. At a terminal "
        "each text appears as it is generated.",
    )
    parser.add_fields(SearchOptions, title=TITLE, skip=OF_TRANSLATION)
    parser.add_fields(GrammarOptions, title="grammar (needs the package llguidance)")
    parser.add_fields(GenerateOptions, title="texts")
    parser.add_fields(TextLineOptions, title="lines")
    parser.add_fields(RuntimeOptions, title="runtime")
    return parser


class _Prompts:
    """The lines that a generator continues, block by block.

    Args:
        generator: The generator.
        search: The search.
        lines: How lines are read.

    Attributes:
        generator: The generator.
        max_text_length: Most tokens of a line that is not cut; None if there is no limit.
    """

    def __init__(
        self, generator: TextGenerator, search: SearchOptions, lines: TextLineOptions
    ) -> None:
        self.generator = generator
        self.max_text_length = generator.longest_prompt(search)
        self._search, self._lines, self._done = search, lines, 0
        self._answered = 0

    def text_lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many tokens each line has."""
        return self.generator.text_lengths(texts)

    def settings(self, options: GenerateOptions) -> dict[str, Any]:
        """Returns the arguments of a call with the next lines."""
        # Samples depend on a line's place in the whole input.
        place = {"first_place": self._done} if self._search.sample else {}
        return {**asdict(self._search), "include_prompt": options.include_prompt, **place}

    def check_whole(self, found: Sequence[Hypothesis]) -> None:
        """Names a line whose texts did not all fulfil their grammar."""
        self._answered += 1
        reasons = {one.stop_reason for one in found}
        if self._search.grammar and not reasons <= {"eos", "stop"}:
            mend = "raise --max-length" if "length" in reasons else "the vocabulary cannot write it"
            print(
                f"keras-transformer generate: a text of line {self._answered} of the input ended "
                f"before it fulfilled {self._search.grammar[0]}: {mend}.",
                file=sys.stderr,
            )

    def finish(self, block: Sequence[str]) -> None:
        """Counts lines that were continued, and names those that left little room for it."""
        for message in self._crowded(block):
            print(f"keras-transformer generate: {message}", file=sys.stderr)
        self._done += len(block)

    def _crowded(self, block: Sequence[str]) -> Iterator[str]:
        """Yields a warning for each line that leaves little room and was not cut."""
        positions, limit = self.generator.config.max_positions, self.max_text_length
        if self._lines.long_lines == "cut" or positions is None or limit is None:
            return
        for number, tokens in enumerate(self.text_lengths(block), start=self._done + 1):
            if tokens > limit:
                yield (
                    f"line {number} of the input has {tokens} tokens, which leaves "
                    f"{positions - tokens} of the model's {positions} positions to write to, fewer "
                    f"than --max-length ({self._search.max_length})."
                )


def _stream_lines(prompts: _Prompts, options: GenerateOptions, lines: TextLineOptions) -> None:
    """Writes each text piece by piece, line by line."""

    def write(block: list[str]) -> None:
        settings, generator = prompts.settings(options), prompts.generator
        for prompt in block:
            for piece in itertools.chain(generator.stream(prompt, **settings), [None]):
                text = "\n" if piece is None else piece.replace("\r", " ").replace("\n", " ")
                sys.stdout.buffer.write(text.encode())
                sys.stdout.buffer.flush()
        prompts.finish(block)

    one_by_one = replace(lines, block_lines=1)
    for _ in blocks_of_input("generate", prompts, one_by_one, write, blank_lines_are_texts=True):
        pass
