"""`keras-transformer tag`: writes the tag of each word of standard input's lines."""

from collections.abc import Iterator, Sequence
from typing import Any

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.json_answers import JsonAnswers
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.cli.text_lines import CountedLines, TextLineOptions, answer_lines
from keras_transformer.cli.text_models import open_encoder

# For a word that has no token, or was cut off with the end of its line.
_NO_TAG = "_"


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    lines, runtime = read_fields(given, TextLineOptions), read_fields(given, RuntimeOptions)
    encoder = open_encoder(given.model, runtime, "tagging", **lines.limits)

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
    # A tagger reads word by word, which may take more tokens.
    counted = CountedLines(encoder.max_text_length, encoder.tag_lengths)
    answer_lines("tag", counted, lines, answer, as_json)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser(
        "tag",
        "Tag the words of standard input's lines: for each line the tags of its words, separated "
        f"by spaces; {_NO_TAG} for a word without a token or beyond the longest text.",
    )
    parser.add_positional("model", "Exported directory, or training run.")
    parser.add_fields(TextLineOptions, title="lines")
    parser.add_fields(RuntimeOptions, title="runtime")
    return parser
