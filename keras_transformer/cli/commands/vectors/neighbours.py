"""`keras-transformer neighbours`: writes the words nearest to those of standard input."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from keras_transformer.cli.input_lines import read_blocks, standard_input
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.config.checks import check_size
from keras_transformer.vectors.files import VectorFile
from keras_transformer.vectors.neighbours import Distance, WordVectors


@dataclass(frozen=True, kw_only=True)
class NeighbourOptions:
    """How near words are found.

    Args:
        count: How many for each line.
        distance: "cosine", or "poincare" for vectors that `vectors --method poincare` trained.
    """

    count: int = 10
    distance: Distance = "cosine"

    def __post_init__(self) -> None:
        check_size("count", self.count)


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options = read_fields(given, NeighbourOptions)
    stream = standard_input("neighbours")
    vectors = WordVectors(VectorFile.open(given.vectors), options.distance)
    # Line by line: someone may be typing.
    for number, line in enumerate(chain.from_iterable(read_blocks(stream, 1)), start=1):
        try:
            found = _nearest(vectors, line.split(), options.count)
        except ValueError as error:
            raise ValueError(f"line {number} of the input: {error}") from error
        print("\t".join(f"{word} {value:.3f}" for word, value in found), flush=True)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser."""
    parser = CommandParser(
        "neighbours",
        "Write the words nearest to the one of each line of standard input, with their cosines, "
        "or, for a line of three words such as `man woman king`, what is to the third as the "
        "second is to the first.",
    )
    parser.add_positional("vectors", "File of word vectors, of any kind that --init-vectors takes.")
    parser.add_fields(NeighbourOptions, title="neighbours")
    return parser


def _nearest(vectors: WordVectors, words: list[str], count: int) -> list[tuple[str, float]]:
    match words:
        case [word]:
            return vectors.neighbours(word, count)
        case [a, b, c]:
            return vectors.analogy(a, b, c, count)
        case _:
            raise ValueError(f"expected one word, or three for an analogy, got {len(words)}.")
