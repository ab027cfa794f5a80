"""Opens an artefact as a served model of its family, and finds options that this family does not
have.
"""

import dataclasses
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformer.artefact.encoder_signatures import HEAD_FUNCTIONS
from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.config.family import DECODER, ENCODER, ENCODER_DECODER, FAMILIES
from keras_transformer.generation.engine import OF_TRANSLATION
from keras_transformer.search.keywords import taken
from keras_transformer.search.options import SearchOptions
from keras_transformer.serving.journal import Journal
from keras_transformer.serving.models.served import Served
from keras_transformer.serving.settings import ServeOptions


class _Unused(NamedTuple):
    """Options without an effect on a family.

    Attributes:
        search: Fields of `SearchOptions`.
        long_texts: A value of this option of the server; "" for none.
        server: Other options of the server.
    """

    search: Collection[str]
    long_texts: str
    server: Collection[str]


_OF_TEXTS_TO_TRANSLATE = (
    *("language", "join_lines", "letterless", "markup", "glossary", "terms", "casing"),
    "min_score",
)
# The families that are not translated never split a text, as long_texts="refuse" says.
_UNUSED: dict[str, _Unused] = {
    ENCODER_DECODER.name: _Unused((), "cut", ("adapter",)),
    # An encoder does not search.
    ENCODER.name: _Unused(
        [field.name for field in dataclasses.fields(SearchOptions)],
        "",
        (*_OF_TEXTS_TO_TRANSLATE, "adapter"),
    ),
    DECODER.name: _Unused(OF_TRANSLATION, "cut", _OF_TEXTS_TO_TRANSLATE),
}


def open_model(
    directory: str | os.PathLike[str], options: ServeOptions, given: Mapping[str, Any]
) -> Served:
    """Opens an artefact of any family, without the `unused_options`.

    Args:
        directory: The artefact, whose files are checked against the manifest's hashes, or its
            `ArtefactFiles`, of which none is read again.
        options: The server's limits.
        given: Fields of `SearchOptions` for every model; others are the model's own or defaults.

    Raises:
        FileNotFoundError: The directory or one of its files is missing.
        ValueError: A file is damaged, the search does not fit the model, or the artefact is all
            that is served and its family does not have an option.
    """
    files = ArtefactFiles.of(directory, map_weights=options.mmap)
    family, unused = files.manifest.family, unused_options(files.manifest, options, given)
    # Several versions or models share the options, and may be of several families.
    if unused and files.directory == options.artefact:
        named = ", ".join(f"{name}={value}" for name, value in unused.items())
        raise ValueError(f"models of the family {family!r} do not take {named}: leave it out.")
    used = {name: value for name, value in given.items() if name not in unused}
    # A server loads the code of the families that it serves.
    served: Served = FAMILIES[family].load("served")(files, options, used)
    return served


def load_version(
    directory: Path, options: ServeOptions, given: Mapping[str, Any], journal: Journal
) -> Served:
    """Opens an artefact and runs it once; the journal is told which options it does not use, and
    which its search has of its own. Arguments and errors are those of `open_model`.
    """
    files = ArtefactFiles(directory, map_weights=options.mmap)
    model, manifest = open_model(files, options, given), files.manifest
    if unused := unused_options(manifest, options, given):
        journal.event("unused options", directory=str(directory), **unused)
    if own := taken(manifest.search, given):
        journal.event("search", directory=str(directory), **own)
    model.warm_up()
    return model


def unused_options(
    manifest: Manifest, options: ServeOptions, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the options that were given but have no effect on an artefact's family.

    Args:
        manifest: The artefact's.
        options: The server's.
        given: Fields of `SearchOptions` that were given for every model.
    """
    means_nothing, plain = _UNUSED[manifest.family], dataclasses.asdict(SearchOptions())
    unused = {
        name: value
        for name, value in given.items()
        if name in means_nothing.search and value != plain.get(name)
    }
    if HEAD_FUNCTIONS.get(manifest.config.get("head") or "") == "fill_mask":
        # The fillings of a mask are counted as hypotheses are.
        unused.pop("num_hypotheses", None)
    if options.long_texts == means_nothing.long_texts:
        unused["long_texts"] = options.long_texts
    for name in means_nothing.server:
        if getattr(options, name) != getattr(ServeOptions, name):
            unused[name] = getattr(options, name)
    return unused
