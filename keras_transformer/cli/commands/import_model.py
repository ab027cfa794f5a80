"""`keras-transformer import`: converts a model of another toolkit to a run directory."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keras_transformer.cli.keras_side import ThreadOptions, limit_threads, load_training
from keras_transformer.cli.parser import CommandParser, read_fields


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """The run to write.

    Args:
        output: Run directory to write, or the file of an adapter.
        overwrite: Replace a model that was imported there before.
        adapter_of: Directory of the model that a low-rank adapter of Hugging Face's peft belongs
            to; `model` is then the adapter's, and the output a file, NAME.lora.npz, for `serve
            --adapter`.
        source_language: Code of the texts' language unless a command gives another one, for a model
            of several languages.
        target_language: Code of the language to translate into unless a command gives another one.
    """

    output: Path
    overwrite: bool = False
    adapter_of: Path | None = None
    source_language: str | None = None
    target_language: str | None = None


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options = read_fields(given, ImportOptions)
    limit_threads(read_fields(given, ThreadOptions).threads)
    load_training()
    if options.adapter_of is not None:
        from keras_transformer.pretrained.peft import import_adapter

        print(f"wrote {import_adapter(given.model, options.adapter_of, options.output)}")
        return 0
    from keras_transformer.training.transfer.import_run import import_run

    run = import_run(
        given.model,
        options.output,
        overwrite=options.overwrite,
        source_language=options.source_language,
        target_language=options.target_language,
    )
    print(f"wrote {run}")
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser(
        "import",
        "Convert a model of another toolkit to a run directory: a model of Marian, CTranslate2, "
        "a GGUF file of llama.cpp, a preset of keras-hub, or one of those of Hugging Face that "
        "docs/import.md lists. "
        "Nothing is downloaded.",
    )
    parser.add_positional("model", "Directory that holds the model's files, or a GGUF file.")
    parser.add_fields(ImportOptions, title="output")
    parser.add_fields(ThreadOptions, title="machine")
    return parser
