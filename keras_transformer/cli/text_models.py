"""Opens an encoder or a generator of texts from a directory: an exported artefact on onnxruntime,
without importing TensorFlow, or a training run on Keras.
"""

import sys
from pathlib import Path
from typing import Any

from keras_transformer.cli.artefact import (
    RuntimeOptions,
    check_finished_run,
    check_run,
    load_run,
    refuse_for_runs,
)
from keras_transformer.cli.families import require_family
from keras_transformer.cli.keras_side import limit_threads
from keras_transformer.config.encoder_only import EncoderHead
from keras_transformer.generation.text_generator import TextGenerator
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.understanding.text_understanding import TextUnderstanding


def open_encoder(
    directory: Path,
    runtime: RuntimeOptions | None = None,
    head: EncoderHead | None = None,
    **limits: Any,
) -> TextUnderstanding:
    """Opens an encoder that `export` or `train` wrote.

    Args:
        directory: An exported artefact (holds `manifest.json`) or a training run (`config.json`
            and `model.keras`).
        runtime: How an artefact is run; the defaults of `RuntimeOptions` if None.
        head: The head that is needed; any if None.
        **limits: `max_text_length` and `long_texts`, as for `TextUnderstanding`.

    Raises:
        FileNotFoundError: The directory is missing, or is neither an artefact nor a training run.
        ImportError: It is a training run, and the extra [train] is not installed.
        ValueError: The model is of another family or has another head, a provider is missing or
            cannot run the artefact, or providers are given for a run.
    """
    require_family(directory, "encoder", head)
    runtime = runtime or RuntimeOptions()
    if (directory / "manifest.json").is_file():
        from keras_transformer.runtime.encoder import OnnxEncoder
        from keras_transformer.runtime.onnx_graphs.providers import parse_providers

        providers = parse_providers(runtime.provider)
        return OnnxEncoder(
            directory, runtime.threads, providers=providers, mmap=runtime.mmap, **limits
        )
    model, tokenizer = _load_run(directory, runtime)
    from keras_transformer.decoding.encoder import TextEncoder
    from keras_transformer.features.feature_runs import RunFeatures

    features = RunFeatures(directory) if model.config.features else None
    return TextEncoder(model, tokenizer, features=features, **limits)


def open_generator(
    directory: Path, runtime: RuntimeOptions | None = None, **limits: Any
) -> TextGenerator:
    """Opens a decoder alone that `export` or `train` wrote.

    Args:
        directory: An exported artefact (holds `manifest.json`) or a training run (`config.json`
            and `model.keras`).
        runtime: How an artefact is run; the defaults of `RuntimeOptions` if None.
        **limits: `max_text_length` and `long_texts`, as for `TextGenerator`.

    Raises:
        FileNotFoundError: The directory is missing, or is neither an artefact nor a training run.
        ImportError: It is a training run, and the extra [train] is not installed.
        ValueError: The model is of another family, a provider is missing or cannot run the
            artefact, or providers are given for a run.
    """
    require_family(directory, "decoder")
    runtime = runtime or RuntimeOptions()
    if (directory / "manifest.json").is_file():
        from keras_transformer.runtime.generator import OnnxGenerator
        from keras_transformer.runtime.onnx_graphs.providers import parse_providers

        providers = parse_providers(runtime.provider)
        return OnnxGenerator(
            directory, runtime.threads, providers=providers, mmap=runtime.mmap, **limits
        )
    model, tokenizer = _load_run(directory, runtime)
    from keras_transformer.decoding.generator import Generator

    return Generator(model, tokenizer, search=RunDirectory(directory).load_search(), **limits)


def _load_run(directory: Path, runtime: RuntimeOptions) -> tuple[Any, Any]:
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
    model, tokenizer, _ = load_run(directory)
    return model, tokenizer
