"""From a directory on disk to something that translates.

An exported artefact runs on onnxruntime, without importing TensorFlow; a training run on Keras.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from keras_transformer.cli.keras_side import load_training


class Hypothesis(Protocol):
    """One candidate translation, as both translators return it."""

    @property
    def text(self) -> str:
        """The translation."""
        ...

    @property
    def score(self) -> float:
        """Sum of log-probabilities over the length penalty."""
        ...


class TextTranslator(Protocol):
    """What the Keras and the onnxruntime translator have in common."""

    def translate(self, texts: Sequence[str], **search: Any) -> Sequence[str]:
        """Returns the best translation of each text, in order."""
        ...

    def translate_n_best(
        self, texts: Sequence[str], **search: Any
    ) -> Sequence[Sequence[Hypothesis]]:
        """Returns the best candidates of each text, in order, best first."""
        ...


def open_translator(directory: Path) -> TextTranslator:
    """Opens what `export` or `train` wrote.

    Args:
        directory: An exported artefact (holds `manifest.json`) or a training run (`config.json` and
            `model.keras`).

    Raises:
        FileNotFoundError: The directory is missing or is neither of the two.
        ImportError: A training run, and the extra [train] is not installed.
    """
    if (directory / "manifest.json").is_file():
        from keras_transformer.export import OnnxTranslator

        return OnnxTranslator(directory)
    model, source_tokenizer, target_tokenizer = load_run(directory)
    from keras_transformer.decoding.translator import Translator

    return Translator(model, source_tokenizer, target_tokenizer)


def load_run(directory: Path) -> tuple[Any, Any, Any]:
    """Reads a finished training run.

    Args:
        directory: Where `train` wrote `config.json`, `model.keras` and the tokenizers.

    Returns:
        The Keras model, the source tokenizer and the target tokenizer: the same object twice where
        the vocabulary is shared.

    Raises:
        FileNotFoundError: A file of the run is missing; the message names it.
        ImportError: The extra [train] is not installed.
    """
    if not directory.is_dir():
        raise FileNotFoundError(f"no directory {directory}: give a training run or an export.")
    if not (directory / "config.json").is_file():
        raise FileNotFoundError(
            f"{directory} holds neither manifest.json (an export) nor config.json (a training run)."
        )
    return load_training().load_run(directory)
