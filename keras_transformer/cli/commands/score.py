"""`keras-transformer score`: prints the log-probability of each given translation."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from keras_transformer.cli.artefact import RuntimeOptions, open_whole_text_translator
from keras_transformer.cli.flags.pair_files import PairFileOptions
from keras_transformer.cli.input_lines import answer_before_error, standard_input
from keras_transformer.cli.json_answers import SOURCE, TARGET, JsonAnswers
from keras_transformer.cli.long_lines import LineOptions
from keras_transformer.cli.parser import CommandParser, UsageError, read_fields
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.search.confidence import token_score
from keras_transformer.search.model_limits import MAX_SOURCE_LENGTH, PositionsError, TooLongError
from keras_transformer.search.options import Hypothesis
from keras_transformer.translation.translator import TextTranslator

_BLOCK_LINES = 256


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(PairFileOptions):
    """Which translations are scored, and how.

    Args:
        source: Source text, one sentence a line, plain or .gz; or, with --data tsv, po, xliff or
            tmx, a file that holds texts beside their translations, of which each pair that training
            would read gets a score, in order.
        target: A translation of each line, line by line; with --data text.
        per_token: Write the mean over the tokens of each translation, including its end token,
            rather than the sum.
        max_source_length: Most tokens of a source line.
        jsonl: Read a JSON object a line from standard input instead of the two files, with a
            "source" and a "target", and write it again with the score.
        **pair_file_fields: Fields of `PairFileOptions`.
    """

    source: Path | None = None
    target: Path | None = None
    per_token: bool = False
    max_source_length: int = MAX_SOURCE_LENGTH
    jsonl: bool = False

    def __post_init__(self) -> None:
        files = {"--source": self.source, "--target": self.target}
        if self.jsonl:
            if any(files.values()) or self.data != "text":
                raise ValueError(
                    "--jsonl reads standard input: leave out --source, --target and --data."
                )
            return
        if self.data != "text":
            del files["--target"]
        missing = [flag for flag, file in files.items() if file is None]
        if missing:
            raise UsageError(f"missing: {', '.join(missing)}; see --help.")
        self.check_data(self.target, "--target")


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options = read_fields(given, ScoreOptions)
    if options.source is None:
        return _score_json(given.model, read_fields(given, RuntimeOptions), options)
    pairs = options.read_pairs(options.source, options.target)
    whole = LineOptions(long_lines="refuse", max_source_length=options.max_source_length)
    runtime = read_fields(given, RuntimeOptions)
    translator = open_whole_text_translator(given.model, runtime, whole)
    for score in _score(translator, pairs, options):
        print(f"{score:.6f}")
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    return CommandParser.of_model(
        "score",
        "Score given translations: one log-probability a line, in nats, as the model sees it.",
        translations=ScoreOptions,
        runtime=RuntimeOptions,
    )


def _score(translator: TextTranslator, pairs: Pairs, options: ScoreOptions) -> Iterator[float]:
    """Yields the score of each pair, with a progress bar at a terminal."""
    hidden = sys.stdout.isatty() or not sys.stderr.isatty()
    with tqdm(total=len(pairs.source), unit="line", desc="score", disable=hidden) as progress:
        for start in range(0, len(pairs.source), _BLOCK_LINES):
            block = slice(start, start + _BLOCK_LINES)
            try:
                found = translator.score(pairs.source[block], pairs.target[block])
            except (TooLongError, PositionsError) as error:
                raise ValueError(_about_line(error, start, options)) from error
            for one in found:
                yield _shown(one, options)
            progress.update(len(found))


def _shown(one: Hypothesis, options: ScoreOptions) -> float:
    total = one.log_probability
    return token_score(one.ids, total) if options.per_token else total


def _score_json(model: Path, runtime: RuntimeOptions, options: ScoreOptions) -> int:
    """Writes the lines of standard input with their scores; returns the exit code."""
    stream = standard_input("score")
    whole = LineOptions(long_lines="refuse", max_source_length=options.max_source_length)
    translator = open_whole_text_translator(model, runtime, whole)

    def values(block: Sequence[Any]) -> Iterator[dict[str, Any]]:
        targets = [one.values[TARGET] for one in block]
        for one in translator.score(block, targets):
            yield {"score": _shown(one, options), "ids": list(map(int, one.ids))}

    reads = {SOURCE: str, TARGET: str}
    as_json = JsonAnswers(answer=values, writes=("score", "ids"), reads=reads)
    done = 0
    for block in as_json.read(stream, 1 if sys.stdin.isatty() else _BLOCK_LINES):
        lines, refused = answer_before_error(as_json.lines, block)
        for line in lines or []:
            sys.stdout.buffer.write(line.encode() + b"\n")
        sys.stdout.buffer.flush()
        if isinstance(refused, TooLongError | PositionsError):
            raise ValueError(_about_line(refused, done, options)) from refused
        if refused is not None:
            raise refused
        done += len(block)
    return 0


def _about_line(error: TooLongError | PositionsError, done: int, options: ScoreOptions) -> str:
    """Says which of the lines after the first `done` is too long, and what to do about it."""
    # In other formats a pair is not a line.
    line = f"{'line' if options.data == 'text' else 'pair'} {done + error.index + 1}"
    if isinstance(error, TooLongError):
        source = options.source or "the input"
        return (
            f"{line} of {source} has {error.tokens} tokens, more than the "
            f"{error.limit} allowed: raise --max-source-length where the model allows it."
        )
    file = (options.target if error.side == "target" else None) or options.source or "the input"
    return (
        f"{line} of {file} has {error.tokens} tokens with its end token, more than the "
        f"model's {error.limit} positions: shorten it."
    )
