"""`keras-transformer tag`: writes the tag of each word of standard input's lines, or evaluates the
model on a file of tagged texts.
"""

import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.json_answers import JsonAnswers
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.cli.text_lines import (
    CountedLines,
    TextLineOptions,
    about_line,
    answer_lines,
    tell_cuts,
)
from keras_transformer.cli.text_models import open_encoder
from keras_transformer.search.text_limits import LongTextError
from keras_transformer.understanding.tag_scores import SpanScores, TagScores, tag_scores
from keras_transformer.understanding.text_understanding import TextUnderstanding

# For a word that has no token, or was cut off with the end of its line.
_NO_TAG = "_"


@dataclass(frozen=True, kw_only=True)
class TagOptions:
    """The texts to tag.

    Args:
        test_text: File of tagged texts to tag instead of standard input, as for training: lines of
            word/TAG word/TAG. The accuracy is printed, and for tags in the scheme BIO or BIOES
            precision, recall and F1 of the spans.
        json: Print these as one JSON object.
    """

    test_text: Path | None = None
    json: bool = False

    def __post_init__(self) -> None:
        if self.test_text is None and self.json:
            raise ValueError("json sets the output format of test_text: give test_text, too.")


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    lines, runtime = read_fields(given, TextLineOptions), read_fields(given, RuntimeOptions)
    options = read_fields(given, TagOptions)
    if lines.jsonl and options.test_text is not None:
        raise ValueError("--jsonl reads standard input: leave it or --test-text out.")
    encoder = open_encoder(given.model, runtime, "tagging", **lines.limits)
    # A tagger reads word by word, which may take more tokens.
    counted = CountedLines(encoder.max_text_length, encoder.tag_lengths)
    if options.test_text is not None:
        scores = _test(encoder, counted, options.test_text, lines)
        print(json.dumps(asdict(scores), ensure_ascii=False) if options.json else _report(scores))
        return 0

    def answer(block: list[str]) -> Iterator[str]:
        return (" ".join(word.tag or _NO_TAG for word in words) for words in encoder.tag(block))

    def values(block: list[Any]) -> Iterator[dict[str, Any]]:
        for words in encoder.tag(block):
            yield {
                "words": [one.word for one in words],
                "tags": [one.tag or None for one in words],
                "probabilities": [float(one.probability) if one.tag else None for one in words],
            }

    as_json = JsonAnswers(answer=values, writes=("words", "tags", "probabilities"))
    answer_lines("tag", counted, lines, answer, as_json)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    return CommandParser.of_model(
        "tag",
        "Tag the words of standard input's lines: for each line the tags of its words, separated "
        f"by spaces; {_NO_TAG} for a word without a token or beyond the longest text. With "
        "--test-text, say how well tagged texts are tagged.",
        texts=TagOptions,
        lines=TextLineOptions,
        runtime=RuntimeOptions,
    )


def _test(
    encoder: TextUnderstanding, counted: CountedLines, path: Path, lines: TextLineOptions
) -> TagScores:
    from keras_transformer.data.sources.tagged import read_tagged

    read, labels = read_tagged(path), encoder.config.labels
    for note in read.notes:
        print(note, file=sys.stderr)
    # Before any text is read by the model.
    read.check_tags(labels, "the tagger's")
    texts = [" ".join(words) for words in read.words]
    tell_cuts("tag", counted, lines, texts, itertools.count(1), str(path))
    try:
        found = encoder.tag(texts)
    except LongTextError as error:
        raise ValueError(about_line(error, error.index + 1, str(path))) from error
    return tag_scores([[one.tag for one in words] for words in found], read.tags, labels)


def _report(scores: TagScores) -> str:
    width = max(map(len, (*scores.kinds, "all spans")))
    lines = [f"{'':{width}}  precision  recall      F1  number"]

    def add(name: str, one: SpanScores) -> None:
        shares = f"{one.precision:9.1%}  {one.recall:6.1%}  {one.f1:6.1%}"
        lines.append(f"{name:{width}}  {shares}  {one.spans:,}")

    for kind, one in scores.kinds.items():
        add(kind, one)
    if scores.spans is None:
        lines.clear()
    else:
        add("all spans", scores.spans)
    lines.append(f"{'accuracy':{width}}  {scores.accuracy:9.1%}  {'':14}  {scores.words:,}")
    return "\n".join(lines)
