"""`keras-transformer export`: a training run becomes a directory that serves without TensorFlow."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from keras_transformer.cli.artefact import load_run
from keras_transformer.cli.parser import CommandParser, read_fields


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """What is written, and where.

    Args:
        format: Kind of artefact: "onnx" is an encoder and a decoder-step graph for onnxruntime.
        output: Directory to write; it gets this name only when the graphs have been checked.
        target: "onnxruntime" for graphs with its fused operators, the fastest there; "portable" for
            standard ONNX operators only.
        quantize: Smaller weights: "int8" for CPUs, "int8_batch_dependent" (faster in large batches,
            but results depend a little on the rest of the batch), "float16" for GPUs.
        opset: ONNX operator set of the graphs.
        overwrite: Replace the output directory where it exists.
    """

    output: Path
    format: Literal["onnx"] = "onnx"
    target: Literal["onnxruntime", "portable"] = "onnxruntime"
    quantize: Literal["int8", "int8_batch_dependent", "float16"] | None = None
    opset: int = 18
    overwrite: bool = False


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options = read_fields(given, ExportOptions)
    if options.output.exists() and not options.overwrite:
        raise FileExistsError(f"{options.output} exists: choose another --output or --overwrite.")
    model, source_tokenizer, target_tokenizer = load_run(given.run)
    from keras_transformer.export import export_onnx

    shared = target_tokenizer is source_tokenizer
    written = export_onnx(
        model,
        source_tokenizer,
        options.output,
        target_tokenizer=None if shared else target_tokenizer,
        target=options.target,
        quantize=options.quantize,
        opset=options.opset,
        overwrite=options.overwrite,
    )
    print(f"exported {given.run} to {written}")
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser("export", "Write a trained run as an artefact for serving.")
    parser.add_positional("run", "Training run, as `keras-transformer train` wrote it.")
    parser.add_fields(ExportOptions, title="artefact")
    return parser
