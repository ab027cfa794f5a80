"""TensorFlow Serving's file of models (`--model-config`). The schema is TensorFlow Serving's own;
reading it loads no TensorFlow.
"""

from collections.abc import Iterable
from pathlib import Path

from google.protobuf import text_format
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig, ModelServerConfig

from keras_transformer.serving.models.model_options import ModelOptions, VersionPolicy

# Fields that this server does not support; a file that sets them is refused.
_UNSUPPORTED = ("logging_config", "model_type")
_PLATFORMS = ("", "onnx")


def read_model_config(path: Path) -> list[ModelOptions]:
    """Returns the models that a file names.

    Args:
        path: The file, a `ModelServerConfig` as text. A relative `base_path` is relative to the
            file's directory.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not such a text, or uses a field that this server does not support.
    """
    models = []
    for place, config in enumerate(_parse(path).model_config_list.config, start=1):
        name = repr(config.name) if config.name else f"number {place}"
        try:
            models.append(_model(config, path.parent))
        except ValueError as error:
            raise ValueError(f"{path}: model {name}: {error}") from error
    if not models:
        raise ValueError(f"{path}: model_config_list must name a model: add config {{ … }}.")
    if twice := _repeated(model.name for model in models):
        raise ValueError(f"{path}: model {twice!r} is listed twice: names must differ.")
    return models


def _parse(path: Path) -> ModelServerConfig:
    try:
        config = text_format.Parse(path.read_text(encoding="utf-8"), ModelServerConfig())
    except OSError as error:
        raise OSError(
            f"{path} cannot be read ({error.strerror}): --model-config takes a file in TensorFlow "
            "Serving's text format."
        ) from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be a text in UTF-8: {error}") from error
    except text_format.ParseError as error:
        message = str(error).partition(" : ")[2] or error
        raise ValueError(f"{path}:{error.GetLine()}:{error.GetColumn()}: {message}") from error
    if config.HasField("custom_model_config"):
        raise ValueError(f"{path}: custom_model_config is not served: write model_config_list.")
    return config


def _model(config: ModelConfig, directory: Path) -> ModelOptions:
    if not config.name:
        raise ValueError("name is missing.")
    if not config.base_path:
        raise ValueError("base_path is missing: name an artefact or a directory of versions.")
    for field, _ in config.ListFields():
        if field.name in _UNSUPPORTED:
            raise ValueError(f"{field.name} is not supported: leave it out.")
    if config.model_platform not in _PLATFORMS:
        raise ValueError(
            f'model_platform must be "onnx", or left out, got "{config.model_platform}": this '
            "server needs artefacts from `keras-transformer export RUN --format onnx`."
        )
    labels = dict(config.version_labels)
    return ModelOptions(config.name, directory / config.base_path, _policy(config), labels)


def _policy(config: ModelConfig) -> VersionPolicy:
    policy = config.model_version_policy
    match policy.WhichOneof("policy_choice"):
        case "all":
            return VersionPolicy(most=None)
        case "specific":
            return VersionPolicy(most=None, only=frozenset(policy.specific.versions))
        case _:
            return VersionPolicy(most=policy.latest.num_versions or 1)


def _repeated(names: Iterable[str]) -> str | None:
    """Returns the first name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
