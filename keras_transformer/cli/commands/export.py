"""`keras-transformer export`: writes a training run as an ONNX artefact, a SavedModel, or a
model of another toolkit.
"""

import dataclasses
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from keras_transformer.cli.artefact import check_finished_run, load_run
from keras_transformer.cli.families import family_in
from keras_transformer.cli.flags.search import TITLE, read_search
from keras_transformer.cli.keras_side import ThreadOptions, limit_threads, load_training
from keras_transformer.cli.parser import CommandParser, flags_in_errors, read_fields
from keras_transformer.distribution import install_command
from keras_transformer.markup.casing import Casing, recases
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.model_limits import MAX_SOURCE_LENGTH
from keras_transformer.search.options import SearchOptions


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """The format of the export and its directory.

    Args:
        output: Directory to write; it gets this name only when its content has been checked. A
            saved_model is written to a directory in it, named by its version.
        format: Kind of artefact: "onnx" is for onnxruntime, "saved_model" for TensorFlow Serving;
            "marian", "huggingface", "ctranslate2" and "keras_hub" are models of these toolkits.
        overwrite: Replace the output, or the version in it, if it exists.
    """

    output: Path
    format: Literal["onnx", "saved_model", "marian", "huggingface", "ctranslate2", "keras_hub"] = (
        "onnx"
    )
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class OnnxOptions:
    """How the graphs of --format onnx are written.

    Args:
        target: "fastest" for two sets of graphs, with this package's own operators and for
            onnxruntime alone, of which the machine that runs the artefact takes the faster;
            "native" and "onnxruntime" for one of the two; "portable" for standard ONNX operators
            only.
        quantize: Smaller weights: "int8" for CPUs, "int8_batch_dependent" (faster in large batches,
            but results depend a little on the rest of the batch), "int4" (half of int8's size,
            less precise), "bfloat16" for CPUs with AMX (this package's own operators alone),
            "float16" for GPUs.
        block_size: With int4, weights of an output that share a scale: 32, or 128, which is smaller
            and less precise.
        zero_points: With int4, a zero point for each of these blocks, too: a little larger, a
            little more precise.
        calibrate: Texts, one a line, plain or .gz, on which the loss of quantisation is measured,
            and to which int4 weights are fitted (GPTQ), better than by rounding to the nearest. For
            a translation model each line is a source, a tab and its translation.
        max_loss: Largest loss on that text that is exported: the relative growth of the perplexity,
            0.05 for a twentieth, or for an encoder 1 minus the mean cosine to float32's vectors.
        adapters: Let a decoder's graphs take low-rank adapters (`serve --adapter`), in float32 and
            for onnxruntime alone.
        opset: ONNX operator set of the graphs.
        shortlist: File with the target pieces that each source piece may need; searching only among
            these is faster. Marian's lexical table (target source probability) or binary shortlist,
            or CTranslate2's map. Without it, the search is among all pieces.
        shortlist_source: Source text to learn such a list from instead, preferably the training
            text: one sentence a line, plain or .gz, one or many files.
        shortlist_target: Target text, line by line with it, as many files.
        shortlist_candidates: Number of target pieces for each source piece.
    """

    target: Literal["fastest", "onnxruntime", "native", "portable"] = "fastest"
    quantize: Literal["int8", "int8_batch_dependent", "int4", "bfloat16", "float16"] | None = None
    block_size: int = 32
    zero_points: bool = False
    calibrate: Path | None = None
    max_loss: float | None = None
    adapters: bool = False
    opset: int = 18
    shortlist: Path | None = None
    shortlist_source: list[Path] = field(default_factory=list)
    shortlist_target: list[Path] = field(default_factory=list)
    shortlist_candidates: int = 50

    def __post_init__(self) -> None:
        if bool(self.shortlist_source) != bool(self.shortlist_target):
            raise ValueError("shortlist_source and shortlist_target go together: give both.")
        if self.shortlist is not None and self.shortlist_source:
            raise ValueError("shortlist and shortlist_source exclude each other: give one of them.")
        if self.shortlist_candidates < 1:
            raise ValueError(
                f"shortlist_candidates must be at least 1, got {self.shortlist_candidates}."
            )


@dataclass(frozen=True, kw_only=True)
class SavedModelOptions:
    """How a SavedModel is written.

    Args:
        signatures: "text" takes and gives strings; "ids" takes and gives token ids, without an
            operator of tensorflow-text, for servers without it or with an older one. A vocabulary
            in a tokenizer.json, for which TensorFlow has no operator, needs "ids".
        version: Number of the version; servers take the highest.
        max_source_length: Most tokens of a source; longer ones are cut.
        casing: Whether a translator reads texts in capitals as sentences and translates them in
            capitals: "auto" if few of its training lines were in capitals, or if that is unknown;
            "recase" always, "keep" never.
    """

    signatures: Literal["text", "ids"] = "text"
    version: int = 1
    max_source_length: int = MAX_SOURCE_LENGTH
    casing: Casing = "auto"


# The fields of `OnnxOptions` that say how graphs are written, not what they choose among.
_GRAPHS = ("target", "quantize", "opset")
# The graph of a SavedModel holds no random numbers and looks for no stops.
_LEFT_OUT = (
    "sample",
    "temperature",
    "top_k",
    "top_p",
    "seed",
    "ban",
    "require",
    "stop",
    "stop_tokens",
)


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    parser = build_parser()
    given = parser.parse(arguments)
    limit_threads(read_fields(given, ThreadOptions).threads)
    options = read_fields(given, ExportOptions)
    onnx = read_fields(given, OnnxOptions)
    saved_model = read_fields(given, SavedModelOptions)
    if options.format == "saved_model":
        _refuse(options.format, onnx)
        search = _chosen_search(parser, arguments, given.run)
        written = _export_saved_model(given.run, options, saved_model, search)
    else:
        _refuse(options.format, saved_model, read_fields(given, SearchOptions, skip=_LEFT_OUT))
        if options.format == "onnx":
            written = _export_onnx(given.run, options, onnx)
        else:
            _refuse(options.format, onnx)
            written = _export_pretrained(given.run, options)
    print(f"exported {given.run} to {written}")
    if options.format not in ("onnx", "saved_model"):
        _tell_capitals(given.run)
    if options.format == "saved_model":
        _print_needs(written)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser("export", "Write a trained run as an artefact for serving.")
    parser.add_positional("run", "Training run, as `keras-transformer train` wrote it.")
    parser.add_fields(ExportOptions, title="artefact")
    parser.add_fields(ThreadOptions, title="machine")
    parser.add_fields(OnnxOptions, title="with --format onnx")
    parser.add_fields(SavedModelOptions, title="with --format saved_model")
    parser.add_fields(SearchOptions, title=f"with --format saved_model, {TITLE}", skip=_LEFT_OUT)
    return parser


def _refuse(chosen: str, *others: Any) -> None:
    """Refuses options of the other format that differ from their defaults."""
    for options in others:
        for one in dataclasses.fields(options):
            if getattr(options, one.name) != _default(one):
                flag = f"--{one.name.replace('_', '-')}"
                raise ValueError(f"{flag} does not go with --format {chosen}: leave it out.")


def _default(one: dataclasses.Field[Any]) -> Any:
    if one.default_factory is not dataclasses.MISSING:
        return one.default_factory()
    return one.default


def _export_onnx(run: Path, options: ExportOptions, onnx: OnnxOptions) -> Path:
    from keras_transformer.data.sources.files import read_lines, read_parallel, require_files
    from keras_transformer.export.onnx.settings import Quantization, check_settings

    settings: dict[str, Any] = {name: getattr(onnx, name) for name in _GRAPHS}
    settings["overwrite"] = options.overwrite
    texts = None if onnx.calibrate is None else read_lines(onnx.calibrate)
    with flags_in_errors(ExportOptions, OnnxOptions):
        check_settings(options.output.absolute(), **settings)
        quantization = Quantization(
            block_size=onnx.block_size,
            zero_points=onnx.zero_points,
            calibration=texts,
            max_loss=onnx.max_loss,
        )
        quantization.check_precision(onnx.quantize)
    check_finished_run(run)
    shortlist: Any = onnx.shortlist
    if onnx.shortlist is not None:
        require_files([onnx.shortlist])
    elif onnx.shortlist_source:
        shortlist = read_parallel(onnx.shortlist_source, onnx.shortlist_target)
    load_training()
    from keras_transformer.export import export_run

    candidates = onnx.shortlist_candidates
    return export_run(
        run,
        options.output,
        shortlist=shortlist,
        shortlist_candidates=candidates,
        quantization=quantization,
        adapters=onnx.adapters,
        progress=print,
        **settings,
    )


def _export_pretrained(run: Path, options: ExportOptions) -> Path:
    from keras_transformer.export.pretrained.settings import check_settings

    settings: dict[str, Any] = {"format": options.format, "overwrite": options.overwrite}
    with flags_in_errors(ExportOptions):
        check_settings(options.output.absolute(), **settings)
    check_finished_run(run)
    load_training()
    from keras_transformer.export import export_pretrained

    written = export_pretrained(run, options.output, **settings)
    seen = RunDirectory(run).load_training_text()
    if seen is not None and seen.markup not in (None, "plain"):
        print(
            f"note: the run was trained with --markup {seen.markup}, and other toolkits keep no "
            "spans: they read tags and placeholders as text, and may lose them. With --format onnx "
            "every span is kept."
        )
    return written


def _export_saved_model(
    run: Path, options: ExportOptions, saved_model: SavedModelOptions, search: dict[str, Any]
) -> Path:
    from keras_transformer.export.saved_model.settings import check_settings

    settings = dataclasses.asdict(saved_model) | {"overwrite": options.overwrite}
    with flags_in_errors(ExportOptions, SavedModelOptions):
        check_settings(options.output.absolute(), **settings)
    _print_progress(f"loading {run}")
    model, source_tokenizer, target_tokenizer = load_run(run)
    if not recases(saved_model.casing, RunDirectory(run).load_training_text()):
        settings["casing"] = "keep"
    from keras_transformer.export import export_saved_model

    return export_saved_model(
        model,
        options.output,
        tokenizer=source_tokenizer,
        target_tokenizer=target_tokenizer,
        min_score=RunDirectory(run).load_min_score(),
        progress=_print_progress,
        **settings,
        **search,
    )


def _tell_capitals(run: Path) -> None:
    """Says that texts in capitals are read as they are, if they are recased elsewhere."""
    if family_in(run) != "encoder-decoder":
        return
    if recases("auto", RunDirectory(run).load_training_text()):
        print(
            "note: what was exported reads texts in capitals as they are; translate, evaluate and "
            "serve read them as sentences (--casing auto), with --format onnx from the artefact."
        )


def _chosen_search(parser: CommandParser, arguments: Sequence[str], run: Path) -> dict[str, Any]:
    """Returns the options of the search; an encoder's that were given.

    An encoder does not search: the number of fillings of masks that it returns needs no beams.
    """
    if _is_encoder(run):
        return parser.given(arguments, SearchOptions, skip=_LEFT_OUT)
    return dataclasses.asdict(read_search(parser, arguments, run, skip=_LEFT_OUT))


def _is_encoder(run: Path) -> bool:
    """Whether a run trains an encoder; a damaged run is reported when it is loaded."""
    try:
        return json.loads((run / "config.json").read_text(encoding="utf-8"))["family"] == "encoder"
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _print_progress(line: str) -> None:
    print(f"keras-transformer export: {line}", file=sys.stderr, flush=True)


def _print_needs(written: Path) -> None:
    """Prints what a server must have, and whether it will be warmed up."""
    described = json.loads((written / "assets.extra" / "export.json").read_text(encoding="utf-8"))
    operators = ", ".join(described["operators_outside_tensorflow"]) or "none"
    print(f"operators outside TensorFlow that a server must have: {operators}")
    if not described["warmup"]:
        print(
            "no warm-up requests were written: that needs "
            f"`{install_command('grpc')}`, then export again."
        )
