"""onnxruntime's execution providers for an artefact's graphs, by names with or without options, and
checked.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import onnxruntime

from keras_transformer.artefact.manifest import Manifest

Provider = str | tuple[str, Mapping[str, Any]]

CPU = "CPUExecutionProvider"
# The package that contains each provider; each replaces the package onnxruntime.
_PACKAGES = {
    "CUDAExecutionProvider": "onnxruntime-gpu",
    "TensorrtExecutionProvider": "onnxruntime-gpu",
    "OpenVINOExecutionProvider": "onnxruntime-openvino",
    "DmlExecutionProvider": "onnxruntime-directml",
    "MIGraphXExecutionProvider": "onnxruntime-migraphx",
    "QNNExecutionProvider": "onnxruntime-qnn",
}


def check_providers(
    providers: Sequence[Provider] | None, manifest: Manifest
) -> list[tuple[str, dict[str, Any]]]:
    """Returns the providers to open an artefact's graphs with, best first, each with its options.

    Args:
        providers: Names, or tuples of a name and onnxruntime's options for it; the CPU if None.
        manifest: The artefact's contract.

    Raises:
        TypeError: `providers` is one string, or holds anything but names and such tuples.
        ValueError: It is empty, names a provider twice or one that this onnxruntime lacks, or names
            one other than the CPU for graphs whose operators run on the CPU only.
    """
    if providers is None:
        return [(CPU, {})]
    if isinstance(providers, str | Mapping) or not isinstance(providers, Sequence):
        raise TypeError(f"providers must be a list of names, got {providers!r}.")
    if not providers:
        raise ValueError(f"providers must name at least one, such as {CPU!r}, got none.")
    chosen = [_with_options(provider) for provider in providers]
    names = [name for name, _ in chosen]
    for name in names:
        _check_is_there(name)
        if names.count(name) > 1:
            raise ValueError(f"providers must name each only once, got {name!r} more often.")
    others = [name for name in names if name != CPU]
    if others and manifest.target != "portable":
        raise ValueError(
            f'the artefact has graphs for target="{manifest.target}", whose operators work on '
            f"the CPU and its memory only, so it cannot run with {', '.join(others)}: export it "
            'with target="portable" (--target portable).'
        )
    return chosen


def parse_providers(texts: Sequence[str]) -> list[Provider] | None:
    """Parses a flag's values, each `NAME` or `NAME:option=value,option=value`; None if empty.

    Raises:
        ValueError: An option has no value.

    Example:
        >>> parse_providers(["OpenVINOExecutionProvider:device_type=CPU", "CPUExecutionProvider"])
        [('OpenVINOExecutionProvider', {'device_type': 'CPU'}), 'CPUExecutionProvider']
    """
    return [_parse(text) for text in texts] or None


def describe(providers: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Returns the providers and their options as text for a message."""
    return ", ".join(f"{name} {dict(options)}" if options else name for name, options in providers)


def _parse(text: str) -> Provider:
    name, colon, rest = text.partition(":")
    if not colon:
        return name
    options = dict(item.partition("=")[::2] for item in rest.split(","))
    if not all(key and value for key, value in options.items()):
        raise ValueError(
            f"--provider expects NAME or NAME:option=value,option=value, got {text!r}."
        )
    return name, options


def _with_options(provider: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(provider, str):
        return provider, {}
    match provider:
        case (str(name), Mapping() as options):
            return name, dict(options)
    raise TypeError(
        "providers must hold names, or tuples of a name and a dictionary of options, got "
        f"{provider!r}."
    )


def _check_is_there(name: str) -> None:
    there = onnxruntime.get_available_providers()
    if name in there:
        return
    package = _PACKAGES.get(name)
    advice = (
        f"uninstall the package onnxruntime and install {package} in its place"
        if package
        else "install a build of onnxruntime that has it"
    )
    raise ValueError(
        f"this onnxruntime has no {name!r}, only {', '.join(there)}: choose one of these, or "
        f"{advice}."
    )
