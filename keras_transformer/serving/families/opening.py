"""Opens the served model of an artefact's family, and names options that this family does
not have.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.artefact.encoder_signatures import HEAD_FUNCTIONS
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.generation.engine import OF_TRANSLATION
from keras_transformer.runtime.onnx_graphs.providers import Provider, parse_providers
from keras_transformer.search.defaults import search_options
from keras_transformer.search.options import SearchOptions
from keras_transformer.serving.models.served import Served
from keras_transformer.serving.settings import ServeOptions

# Of the server's options. The other families never split a text, as long_texts="refuse" says.
_OF_TEXTS_TO_TRANSLATE = ("language", "join_lines", "letterless", "min_score")
_CUT = {"long_texts": "cut"}


def open_model(directory: Path, options: ServeOptions, given: Mapping[str, Any]) -> Served:
    """Opens an artefact of any family, without the `unused_options`.

    Args:
        directory: The artefact; its files are checked against the manifest's hashes.
        options: The server's limits.
        given: Fields of `SearchOptions` for every model; others are the model's own or defaults.

    Raises:
        FileNotFoundError: The directory or one of its files is missing.
        ValueError: A file is damaged, the search does not fit the model, or the artefact is all
            that is served and its family does not have an option.
    """
    providers: Sequence[Provider] | None = parse_providers(options.provider)
    manifest = Manifest.read(directory)
    family, unused = manifest.family, unused_options(manifest, options, given)
    # Several versions or models share the options, and may be of several families.
    if directory == options.artefact:
        _refuse(family, unused)
    given = {name: value for name, value in given.items() if name not in unused}
    # A server loads the code of the families that it serves.
    if family == "encoder":
        from keras_transformer.serving.families.encoder import ServedEncoder

        return ServedEncoder(
            directory,
            max_text_length=options.max_source_length,
            long_texts="cut" if options.long_texts == "cut" else "refuse",
            num_hypotheses=given.get("num_hypotheses", 1),
            threads=options.threads,
            providers=providers,
            mmap=options.mmap,
        )
    search = search_options(manifest.search, given)
    if family == "decoder":
        from keras_transformer.serving.families.generator import ServedGenerator

        return ServedGenerator(
            directory,
            search,
            max_text_length=options.max_source_length,
            threads=options.threads,
            providers=providers,
            mmap=options.mmap,
        )
    from keras_transformer.serving.models.model import ServedModel

    return ServedModel(
        directory,
        search,
        max_source_length=options.max_source_length,
        long_texts="split" if options.long_texts == "cut" else options.long_texts,
        language=options.language,
        max_sentences=options.max_sentences,
        min_score=options.min_score,
        join_lines=options.join_lines,
        letterless=options.letterless,
        threads=options.threads,
        providers=providers,
        mmap=options.mmap,
    )


def _refuse(family: str, unused: Mapping[str, Any]) -> None:
    if unused:
        named = ", ".join(f"{name}={value}" for name, value in unused.items())
        raise ValueError(f"models of the family {family!r} do not take {named}: leave it out.")


def unused_options(
    manifest: Manifest, options: ServeOptions, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the options that were given and that mean nothing to an artefact's family.

    Args:
        manifest: The artefact's.
        options: The server's.
        given: Fields of `SearchOptions` that were given for every model.
    """
    cuts: dict[str, Any] = _CUT if options.long_texts == "cut" else {}
    if manifest.family == "encoder-decoder":
        return dict(cuts)
    plain = dataclasses.asdict(SearchOptions())
    given = {name: value for name, value in given.items() if value != plain.get(name)}
    if manifest.family == "encoder":
        # An encoder does not search; it only counts the fillings of masks.
        fills = HEAD_FUNCTIONS.get(manifest.config.get("head") or "") == "fill_mask"
        unused = {name: one for name, one in given.items() if name != "num_hypotheses" or not fills}
    else:
        unused = {name: given[name] for name in OF_TRANSLATION if name in given} | cuts
    for name in _OF_TEXTS_TO_TRANSLATE:
        if getattr(options, name) != getattr(ServeOptions, name):
            unused[name] = getattr(options, name)
    return unused
