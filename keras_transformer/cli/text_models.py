"""Opens an encoder or a generator of texts from a directory: an exported artefact on onnxruntime,
without importing TensorFlow, or a training run on Keras.
"""

from pathlib import Path
from typing import Any

from keras_transformer.cli.artefact import RuntimeOptions, open_artefact
from keras_transformer.cli.families import require_family
from keras_transformer.cli.keras_side import load_training
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
    opened: TextUnderstanding | None = open_artefact(directory, "encoder", runtime, **limits)
    if opened is not None:
        return opened
    load_training()
    from keras_transformer.decoding.encoder import TextEncoder
    from keras_transformer.features.feature_runs import RunFeatures

    config: Any = RunDirectory(directory).load_config()
    features = RunFeatures(directory) if config.features else None
    return TextEncoder.from_run(directory, features=features, **limits)


def open_generator(
    directory: Path, runtime: RuntimeOptions | None = None, **limits: Any
) -> TextGenerator:
    """Opens a decoder alone; arguments and errors are those of `open_encoder`."""
    require_family(directory, "decoder")
    opened: TextGenerator | None = open_artefact(directory, "decoder", runtime, **limits)
    if opened is not None:
        return opened
    load_training()
    from keras_transformer.decoding.generator import Generator

    return Generator.from_run(directory, **limits)
