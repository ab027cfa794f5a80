"""`keras-transformer fill-mask`: fills the masks of each line of standard input."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.json_answers import JsonAnswers
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.cli.text_lines import TextLineOptions, answer_lines
from keras_transformer.cli.text_models import open_encoder


@dataclass(frozen=True, kw_only=True)
class FillMaskOptions:
    """What is written of each line.

    Args:
        num_hypotheses: Fillings of each line, best first, one a line.
    """

    num_hypotheses: int = 1

    def __post_init__(self) -> None:
        if self.num_hypotheses < 1:
            raise ValueError(f"num_hypotheses must be at least 1, got {self.num_hypotheses}.")


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    count = read_fields(given, FillMaskOptions).num_hypotheses
    lines, runtime = read_fields(given, TextLineOptions), read_fields(given, RuntimeOptions)
    encoder = open_encoder(given.model, runtime, "masked_lm", **lines.limits)

    def answer(block: list[str]) -> Iterator[str]:
        for found in encoder.fill_mask(block, count):
            yield from (f"{filling.score:.6f}\t{filling.text}" for filling in found)
            # A small vocabulary may offer fewer; these keep the count of lines even.
            yield from ["-inf\t"] * (count - len(found))

    def values(block: list[Any]) -> Iterator[dict[str, Any]]:
        for found in encoder.fill_mask(block, count):
            yield {"hypotheses": [asdict(filling) for filling in found]}

    as_json = JsonAnswers(answer=values, writes=("hypotheses",))
    answer_lines("fill-mask", encoder, lines, answer, as_json)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    return CommandParser.of_model(
        "fill-mask",
        "Fill every <mask>, or [MASK] where an imported vocabulary spells it so, in the lines of "
        "standard input, each of which needs one: one line out per line in (or one per hypothesis "
        "with --num-hypotheses), the log-probability of what was filled in, a tab and the text.",
        masks=FillMaskOptions,
        lines=TextLineOptions,
        runtime=RuntimeOptions,
    )
