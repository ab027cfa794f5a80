"""Presets on disk: a model's config, weights and tokenizers in a directory that is laid out as a
finished training run.
"""

from pathlib import Path
from typing import Any, TypeVar

import keras

from keras_transformer.config.families import CONFIG, MODEL, load_config
from keras_transformer.layers.variants.quantization import quantized_parts
from keras_transformer.models.files.model_file import load_model_file, save_model
from keras_transformer.models.lora.adaptation import without_low_rank
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.tokenizer_files import remove_tokenizers, save_tokenizers
from keras_transformer.whole_files import check_output, write_text

Model = TypeVar("Model", bound=keras.Model)

# What only a training run has.
_CHECKPOINTS = "checkpoints"


def save_preset(
    model: Any,
    directory: Path,
    source: Tokenizer | None,
    target: Tokenizer | None,
    *,
    overwrite: bool,
) -> None:
    """Writes a preset; see `FamilyModel.save_to_preset`."""
    check_output(directory, is_directory=True)
    _check_tokenizers(model.config.to_dict(), source, target)
    if directory.exists() and any(directory.iterdir()):
        _check_may_be_replaced(directory, overwrite=overwrite)
    # A copy: the model may have an optimizer, and a loss that another process does not know.
    plain = without_low_rank(model)
    directory.mkdir(parents=True, exist_ok=True)
    # A preset without its model is not complete, so that it is removed first and written last.
    (directory / MODEL).unlink(missing_ok=True)
    write_text(directory / CONFIG, model.config.to_json())
    remove_tokenizers(directory)
    if source is not None:
        save_tokenizers(directory, source, source if target is None else target)
    save_model(plain, directory / MODEL)


def load_preset(
    model_class: type[Model], directory: Path, *, load_weights: bool, dtype: str | None
) -> Model:
    """Reads a preset; see `FamilyModel.from_preset`."""
    if not directory.is_dir():
        raise FileNotFoundError(
            f"{directory} is no directory: give one that save_to_preset or training wrote. Nothing "
            "is downloaded."
        )
    config: Any = load_config(existing_file(directory, CONFIG))
    wanted: Any = model_class
    if not isinstance(config, wanted.config_class):
        raise ValueError(
            f"{directory} holds a model of {type(config).__name__}, and {model_class.__name__} is "
            f"made of {wanted.config_class.__name__}: use the class of that config."
        )
    return load_model(directory, dtype) if load_weights else wanted(config, dtype)


def load_model(directory: Path, dtype: str | None = None) -> Any:
    """Reads the model of a preset or run of any family, without its optimizer.

    Args:
        directory: Its directory.
        dtype: Keras dtype policy; that which it was saved with if None.

    Raises:
        FileNotFoundError: The model's file is missing.
        ValueError: The model is quantized and cannot have another dtype.
    """
    model = load_model_file(existing_file(directory, MODEL), compile=False)
    if dtype is None or dtype == model.dtype_policy.name:
        return model
    if quantized_parts(model):
        raise ValueError(
            f"{directory} holds a quantized model, which keeps the dtypes it was quantized with: "
            f"leave out {dtype!r}."
        )
    other = type(model)(model.config, dtype)
    other.set_weights(model.get_weights())
    return other


def existing_file(directory: Path, name: str) -> Path:
    """Returns the path of a preset's file; `FileNotFoundError` if there is none."""
    path = directory / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing: {directory} is no preset, or it was saved without it."
        )
    return path


def _check_may_be_replaced(directory: Path, *, overwrite: bool) -> None:
    """Raises `FileExistsError` unless what the directory holds is a preset to overwrite."""
    if not overwrite:
        raise FileExistsError(f"{directory} is not empty: name another one, or overwrite=True.")
    if (directory / _CHECKPOINTS).exists():
        raise FileExistsError(f"{directory} holds a training run: name another directory.")
    try:
        # Other toolkits give their configs this name, and others' tokenizers may have ours.
        load_config(directory / CONFIG)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise FileExistsError(
            f"{directory} holds something else than a preset, which overwrite=True replaces: name "
            f"another directory ({error})."
        ) from error


def _check_tokenizers(
    config: dict[str, Any], source: Tokenizer | None, target: Tokenizer | None
) -> None:
    """Raises `ValueError` if a tokenizer gives ids that the model has not."""
    if target is not None and source is None:
        raise ValueError("target_tokenizer needs the tokenizer of the source beside it.")
    first = config.get("source_vocab_size", config.get("vocab_size"))
    sizes: dict[str, Any] = {
        "tokenizer": first,
        "target_tokenizer": config.get("target_vocab_size", first),
    }
    sides = {"tokenizer": source, "target_tokenizer": source if target is None else target}
    for name, tokenizer in sides.items():
        if tokenizer is not None and tokenizer.vocab_size > sizes[name]:
            raise ValueError(
                f"{name} has {tokenizer.vocab_size} ids, the model {sizes[name]}: give the one "
                "that the model was trained with."
            )
