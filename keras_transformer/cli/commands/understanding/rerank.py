"""`keras-transformer rerank`: writes the texts of each query, best first, with their scores."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, groupby, islice
from typing import Any, NamedTuple

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.commands.understanding.pair_lines import pairs_in, row_lengths
from keras_transformer.cli.json_answers import JsonAnswers
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.cli.text_lines import (
    CountedLines,
    TextLineOptions,
    answer_lines,
    blocks_of_input,
)
from keras_transformer.cli.text_models import open_encoder
from keras_transformer.config.checks import check_size
from keras_transformer.search.text_limits import LongTextError
from keras_transformer.understanding.results import RankedText, best_first
from keras_transformer.understanding.text_understanding import TextUnderstanding

QUERY, TEXTS, RESULTS = "query", "texts", "results"


@dataclass(frozen=True, kw_only=True)
class RerankOptions:
    """What is written of a query's texts.

    Args:
        top_n: How many of a query's best texts are written; all if not given.
        json: Write a JSON object a query: "query" and, best first, "results", each with the "index"
            of its text among the query's lines from 0, "text" and "score".
    """

    top_n: int | None = None
    json: bool = False

    def __post_init__(self) -> None:
        if self.top_n is not None:
            check_size("top_n", self.top_n)


class ScoredLine(NamedTuple):
    """A line of a query and a text, with the score of both."""

    query: str
    text: str
    score: float


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options = read_fields(given, RerankOptions)
    lines, runtime = read_fields(given, TextLineOptions), read_fields(given, RuntimeOptions)
    if lines.jsonl and options.json:
        raise ValueError("--jsonl writes JSON by itself: leave out --json.")
    encoder = open_encoder(given.model, runtime, "regression", **lines.limits)
    if lines.jsonl:
        _answer_objects(encoder, lines, options)
        return 0

    def score(block: list[str]) -> list[ScoredLine]:
        queries, texts = pairs_in(block, "every line has a query, a tab and a text")
        scores = encoder.regress(queries, texts).tolist()
        return list(map(ScoredLine, queries, texts, scores))

    def lengths(block: Sequence[str]) -> list[int]:
        return row_lengths(encoder, [line.split("\t") for line in block])

    counted = CountedLines(encoder.max_text_length, lengths)
    scored = chain.from_iterable(blocks_of_input("rerank", counted, lines, score))
    for query, ranked in _ranked(scored):
        for line in _written(query, ranked[: options.top_n], options):
            sys.stdout.buffer.write(line.encode() + b"\n")
        sys.stdout.buffer.flush()
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    return CommandParser.of_model(
        "rerank",
        "Rank texts by how well they fit a query. Each line of standard input has a query, a tab "
        "and a text; the lines of a query stand together. For each query its texts are written, "
        "best first: the query, a tab, the score, a tab and the text. Scores have six decimals, "
        "lie in 0 to 1 if the model has a sigmoid, and texts with the same score keep their order. "
        'With --jsonl each line has a "query" and "texts", and is written again with "results".',
        results=RerankOptions,
        lines=TextLineOptions,
        runtime=RuntimeOptions,
    )


def _ranked(scored: Iterable[ScoredLine]) -> Iterator[tuple[str, list[RankedText]]]:
    """Yields each query with its texts, best first, once all of its lines are read."""
    for query, group in groupby(scored, lambda line: line.query):
        found = list(group)
        yield query, best_first([one.text for one in found], [one.score for one in found])


def _written(query: str, ranked: Sequence[RankedText], options: RerankOptions) -> list[str]:
    if options.json:
        results = [asdict(one) for one in ranked]
        return [json.dumps({QUERY: query, RESULTS: results}, ensure_ascii=False)]
    return [f"{query}\t{one.score:.6f}\t{one.text}" for one in ranked]


def _answer_objects(
    encoder: TextUnderstanding, lines: TextLineOptions, options: RerankOptions
) -> None:
    """Answers lines that hold a query and its texts each."""

    def results(block: list[Any]) -> list[dict[str, Any]]:
        rows = [(number, text) for number, one in enumerate(block) for text in one.values[TEXTS]]
        try:
            scores = encoder.regress(
                [block[number] for number, _ in rows], [text for _, text in rows]
            )
        except LongTextError as error:
            raise LongTextError(rows[error.index][0], error.tokens, error.limit) from error
        found = iter(scores.tolist())
        ranked = (best_first(texts, [*islice(found, len(texts))]) for texts in map(_texts, block))
        return [{RESULTS: [asdict(one) for one in found[: options.top_n]]} for found in ranked]

    def lengths(block: Sequence[Any]) -> list[int]:
        rows = ([(one, text) for text in _texts(one)] for one in block)
        return [max(row_lengths(encoder, one), default=0) for one in rows]

    as_json = JsonAnswers(answer=results, writes=(RESULTS,), reads={QUERY: str, TEXTS: list[str]})
    counted = CountedLines(encoder.max_text_length, lengths)
    answer_lines("rerank", counted, lines, lambda block: block, as_json)


def _texts(record: Any) -> list[str]:
    """Returns the texts of a JSON line."""
    return record.values[TEXTS]
