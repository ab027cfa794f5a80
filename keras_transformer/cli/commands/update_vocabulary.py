"""`keras-transformer update-vocabulary`: adds words to the vocabulary of a finished run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keras_transformer.cli.artefact import check_finished_run
from keras_transformer.cli.keras_side import ThreadOptions, limit_threads, load_training
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.data.sources.files import read_lines


@dataclass(frozen=True, kw_only=True)
class VocabularyOptions:
    """Which words are added, and where the run is written.

    Args:
        output: Run directory to write.
        words: File of words to add, one a line: each becomes one token wherever a word begins.
            With two vocabularies they are the source's.
        target_words: File of words to add to the target's vocabulary, if there are two.
    """

    output: Path
    words: Path | None = None
    target_words: Path | None = None

    def __post_init__(self) -> None:
        if self.words is None and self.target_words is None:
            raise ValueError("update-vocabulary needs --words, --target-words or both.")


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options = read_fields(given, VocabularyOptions)
    limit_threads(read_fields(given, ThreadOptions).threads)
    check_finished_run(given.model)
    words, target_words = (
        [] if path is None else read_lines(path) for path in (options.words, options.target_words)
    )
    load_training()
    from keras_transformer.training.transfer.update_vocabulary import update_vocabulary

    run = update_vocabulary(given.model, options.output, words, target_words)
    print(f"wrote {run}")
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser(
        "update-vocabulary",
        "Add words to the vocabulary of a finished run. The model keeps its weights and can then "
        "be fine-tuned on texts with these words (train --init).",
    )
    parser.add_positional("model", "Directory of a finished run.")
    parser.add_fields(VocabularyOptions, title="vocabulary")
    parser.add_fields(ThreadOptions, title="machine")
    return parser
