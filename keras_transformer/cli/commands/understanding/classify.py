"""`keras-transformer classify`: writes the class of each line of standard input."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.cli.text_lines import TextLineOptions, answer_lines
from keras_transformer.cli.text_models import open_encoder
from keras_transformer.understanding.results import Classification
from keras_transformer.understanding.text_understanding import TextUnderstanding


@dataclass(frozen=True, kw_only=True)
class ClassifyOptions:
    """What a line holds.

    Args:
        pairs: Each line has two texts with a tab between them, as the model was trained.
    """

    pairs: bool = False


class PairLines:
    """Classifies lines that hold two texts each.

    Args:
        encoder: The classifier.

    Attributes:
        max_text_length: Most tokens of a line; None if there is no limit.
    """

    def __init__(self, encoder: TextUnderstanding) -> None:
        self._encoder = encoder
        self.max_text_length = encoder.max_text_length

    def text_lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many tokens each line has, with the one between its texts."""
        rows = [text.split("\t") for text in texts]
        return [sum(self._encoder.text_lengths(row)) + len(row) - 1 for row in rows]

    def classify(self, texts: Sequence[str]) -> list[Classification]:
        """Returns the class of each line.

        Raises:
            PairError: A line has another number of texts; it has the index.
        """
        rows = [text.split("\t") for text in texts]
        for index, row in enumerate(rows):
            if len(row) != 2:
                raise PairError(index, len(row) - 1)
        firsts, seconds = zip(*rows, strict=True)
        return self._encoder.classify(firsts, seconds)


class PairError(ValueError):
    """A line is no pair of texts.

    Attributes:
        index: Its place among the lines.
    """

    def __init__(self, index: int, tabs: int) -> None:
        self.index = index
        super().__init__(
            f"the text at index {index} has {tabs} tabs: with --pairs every line has two texts "
            "and one tab between them."
        )


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    pairs = read_fields(given, ClassifyOptions).pairs
    lines, runtime = read_fields(given, TextLineOptions), read_fields(given, RuntimeOptions)
    encoder = open_encoder(given.model, runtime, "classification", **lines.limits)
    classifier = PairLines(encoder) if pairs else encoder

    def answer(block: list[str]) -> Iterator[str]:
        return (f"{one.label}\t{one.probability:.6f}" for one in classifier.classify(block))

    answer_lines("classify", classifier, lines, answer)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser(
        "classify",
        "Classify the lines of standard input: for each its label, a tab and the label's "
        "probability.",
    )
    parser.add_positional("model", "Exported directory, or training run.")
    parser.add_fields(ClassifyOptions, title="texts")
    parser.add_fields(TextLineOptions, title="lines")
    parser.add_fields(RuntimeOptions, title="runtime")
    return parser
