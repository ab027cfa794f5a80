"""`keras-transformer tokenize`: converts lines to the pieces or ids that a model reads,
and back.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from keras_transformer.cli.artefact import open_tokenizers
from keras_transformer.cli.input_lines import read_blocks, standard_input
from keras_transformer.cli.json_answers import JsonAnswers, RecordText
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.text.tokenizer import Tokenizer

_BLOCK_LINES = 256


@dataclass(frozen=True, kw_only=True)
class TokenizeOptions:
    """What is read and what is written.

    Args:
        side: Vocabulary of the "source" or of the "target" language.
        ids: Token ids rather than pieces, without begin and end tokens.
        detokenize: Convert pieces (ids with --ids), separated by spaces, back to text.
        jsonl: Read a JSON object a line and write it again with the answer: the "pieces" (with
            --ids the "ids") of a "text", or the reverse with --detokenize.
    """

    side: Literal["source", "target"] = "source"
    ids: bool = False
    detokenize: bool = False
    jsonl: bool = False


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options = read_fields(given, TokenizeOptions)
    stream = standard_input("tokenize")
    source, target = open_tokenizers(given.model)
    tokenizer = source if options.side == "source" else target
    # At a terminal every line is answered at once.
    at_terminal = sys.stdin.isatty()
    as_json = _json_answers(tokenizer, options)
    read: Any = as_json.read if options.jsonl else read_blocks
    blocks = read(stream, 1 if at_terminal else _BLOCK_LINES)
    for number, line in enumerate(chain.from_iterable(blocks), start=1):
        try:
            if options.jsonl:
                written = as_json.lines([line])[0]
            elif options.detokenize:
                written = _to_text(tokenizer, line, ids=options.ids)
            else:
                written = _to_tokens(tokenizer, line, ids=options.ids)
        except ValueError as error:
            raise ValueError(f"line {number} of the input: {error}") from error
        sys.stdout.buffer.write(written.encode("utf-8") + b"\n")
        if at_terminal:
            sys.stdout.buffer.flush()
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    return CommandParser.of_model(
        "tokenize",
        "Write the pieces of each line of standard input, separated by spaces, as a model reads "
        "them.",
        tokens=TokenizeOptions,
    )


def _json_answers(tokenizer: Tokenizer, options: TokenizeOptions) -> JsonAnswers:
    name = "ids" if options.ids else "pieces"

    def tokens(lines: Sequence[str]) -> Iterator[dict[str, Any]]:
        for line in map(str, lines):
            yield {name: tokenizer.encode([line])[0] if options.ids else tokenizer.split(line)}

    def texts(lines: Sequence[RecordText]) -> Iterator[dict[str, Any]]:
        for line in lines:
            given = line.values[name]
            yield {"text": tokenizer.decode([given])[0] if options.ids else tokenizer.join(given)}

    if options.detokenize:
        reads = {name: list[int] if options.ids else list[str]}
        return JsonAnswers(answer=texts, writes=("text",), reads=reads)
    return JsonAnswers(answer=tokens, writes=(name,))


def _to_tokens(tokenizer: Tokenizer, line: str, *, ids: bool) -> str:
    return (
        " ".join(map(str, tokenizer.encode([line])[0])) if ids else " ".join(tokenizer.split(line))
    )


def _to_text(tokenizer: Tokenizer, line: str, *, ids: bool) -> str:
    words = line.split()
    if not ids:
        return tokenizer.join(words)
    wrong = next((word for word in words if not word.isdecimal()), None)
    if wrong is not None:
        raise ValueError(f"expected token ids separated by spaces, got {wrong!r}.")
    return tokenizer.decode([[int(word) for word in words]])[0]
