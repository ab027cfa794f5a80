"""Opens a translator from a directory: an exported artefact on onnxruntime, without TensorFlow, or
a training run on Keras.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_transformer.cli.families import require_family
from keras_transformer.cli.keras_side import limit_threads, load_training
from keras_transformer.cli.long_lines import LineOptions
from keras_transformer.config.family import FAMILIES, FamilyName
from keras_transformer.path_kinds import describe_path, is_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.translation.by_sentence import SentenceTranslator
from keras_transformer.translation.translator import TextTranslator


@dataclass(frozen=True, kw_only=True)
class RuntimeOptions:
    """How a model is run.

    Args:
        threads: Threads of the model; one for each core that the process may use if not given.
        provider: onnxruntime's execution providers, best first, each NAME or
            NAME:option=value,option=value; the CPU if none is given. Others need an artefact
            exported with --target portable.
        mmap: Map the file of weights instead of reading it, so that processes share its memory. A
            change to the file then changes the answers, and truncating it ends the process.
    """

    threads: int | None = None
    provider: tuple[str, ...] = ()
    mmap: bool = False

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads must be at least 1, got {self.threads}.")


def open_translator(
    directory: Path,
    runtime: RuntimeOptions | None = None,
    lines: LineOptions | None = None,
    *,
    min_score: float | None = None,
) -> TextTranslator | SentenceTranslator:
    """Opens what `export` or `train` wrote, for lines of any length.

    Arguments and errors are those of `open_whole_text_translator`; where long lines are split, the
    translator is one that splits.
    """
    lines = lines or LineOptions()
    return lines.wrap(open_whole_text_translator(directory, runtime, lines, min_score=min_score))


def open_whole_text_translator(
    directory: Path,
    runtime: RuntimeOptions | None = None,
    lines: LineOptions | None = None,
    *,
    min_score: float | None = None,
) -> TextTranslator:
    """Opens what `export` or `train` wrote, for lines that are taken whole.

    Args:
        directory: An exported artefact (holds `manifest.json`) or a training run (`config.json` and
            `model.keras`).
        runtime: How an artefact is run; the defaults of `RuntimeOptions` if None.
        lines: How long a line may be, and whether a longer one is cut; the defaults of
            `LineOptions` if None.
        min_score: Log-probability a token below which confidence is low; the model's if None.

    Raises:
        FileNotFoundError: The directory is missing or is neither of the two.
        ImportError: A training run, and the extra [train] is not installed.
        ValueError: The model is of another family, a provider is missing or cannot run the
            artefact, or providers are given for a run.
    """
    require_family(directory, "encoder-decoder")
    chosen = dict((lines or LineOptions()).limits)
    if min_score is not None:
        chosen["min_score"] = min_score
    opened: TextTranslator | None = open_artefact(directory, "encoder-decoder", runtime, **chosen)
    if opened is not None:
        return opened
    load_training()
    from keras_transformer.decoding.translator import Translator

    return Translator.from_run(directory, **chosen)


def open_artefact(
    directory: Path, family: FamilyName, runtime: RuntimeOptions | None, **limits: Any
) -> Any:
    """Opens an exported artefact; returns None for a finished run, which takes a while to open.

    Args:
        directory: One or the other.
        family: The family of its model.
        runtime: How an artefact is run; the defaults of `RuntimeOptions` if None.
        **limits: Further arguments of what opens it.
    """
    runtime = runtime or RuntimeOptions()
    if (directory / "manifest.json").is_file():
        from keras_transformer.runtime.onnx_graphs.providers import parse_providers

        providers = parse_providers(runtime.provider)
        kind = FAMILIES[family].load("opened")
        return kind(directory, runtime.threads, providers=providers, mmap=runtime.mmap, **limits)
    check_run(directory)
    if runtime.provider:
        refuse_for_runs(directory, "--provider", "with --target portable ")
    if runtime.mmap:
        refuse_for_runs(directory, "--mmap")
    check_finished_run(directory)
    limit_threads(runtime.threads)
    print(
        f"{directory} is a training run: TensorFlow has to start first, which takes a while. An "
        "artefact written by `keras-transformer export` starts at once.",
        file=sys.stderr,
        flush=True,
    )
    return None


def open_tokenizers(directory: Path) -> tuple[Tokenizer, Tokenizer]:
    """Reads the source and the target tokenizer of an artefact or a run, without its model.

    Raises:
        FileNotFoundError: The directory or a file in it is missing, or it is neither an artefact
            nor a run.
        ValueError: The manifest or a tokenizer is damaged.
    """
    if not (directory / "manifest.json").is_file():
        check_run(directory)
        return RunDirectory(directory).load_tokenizers()
    from keras_transformer.export import Manifest

    files = Manifest.read(directory).tokenizers
    # A model with one stack has one tokenizer, that of its text.
    sides = ("text", "text") if "text" in files else ("source", "target")
    source, target = (Tokenizer.load(directory / files[side].file) for side in sides)
    return source, target


def refuse_for_runs(directory: Path, flag: str, how: str = "") -> None:
    """Raises `ValueError` if a run is given with a flag that only exported artefacts have."""
    if not (directory / "manifest.json").is_file():
        check_run(directory)
        raise ValueError(
            f"{flag} is for exported artefacts, and {directory} is a training run: export it "
            f"{how}first."
        )


def load_run(directory: Path) -> tuple[Any, Any, Any]:
    """Reads a finished training run.

    Args:
        directory: Where `train` wrote `config.json`, `model.keras` and the tokenizers.

    Returns:
        The Keras model, the source tokenizer and the target tokenizer: the same object twice if
        the vocabulary is shared.

    Raises:
        FileNotFoundError: A file of the run is missing; the message names it.
        ImportError: The extra [train] is not installed.
    """
    check_finished_run(directory)
    load_training()
    from keras_transformer.runs.finished_run import load_run

    return load_run(directory)


def check_finished_run(directory: Path) -> None:
    """Checks, before TensorFlow is loaded, that a directory is a training run with a finished
    model.
    """
    check_run(directory, or_export=False)
    RunDirectory(directory).check_finished()


def check_run(directory: Path, *, or_export: bool = True) -> None:
    """Checks that a directory is a training run.

    Args:
        directory: The directory.
        or_export: Whether the message should name an exported artefact as well.
    """
    if not directory.is_dir():
        wanted = "a training run or an export" if or_export else "a training run"
        raise FileNotFoundError(
            f"no directory {directory}: give {wanted}.{describe_path(directory)}"
        )
    if is_run(directory):
        return
    lacks = ""
    if not (directory / "config.json").is_file():
        others = "neither manifest.json (an export) nor" if or_export else "no"
        lacks = f"{directory} holds {others} config.json (a training run)."
    raise FileNotFoundError((lacks + describe_path(directory)).strip())
