"""Takes an artefact's directory and returns the served model of its family."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.artefact.manifest import Manifest
from keras_transformer.runtime.onnx_graphs.providers import Provider, parse_providers
from keras_transformer.search.defaults import search_options
from keras_transformer.serving.models.served import Served
from keras_transformer.serving.settings import ServeOptions


def open_model(directory: Path, options: ServeOptions, given: Mapping[str, Any]) -> Served:
    """Opens an artefact of any family.

    Args:
        directory: The artefact; its files are checked against the manifest's hashes.
        options: The server's limits.
        given: Fields of `SearchOptions` for every model; others are the model's own or defaults.

    Raises:
        FileNotFoundError: The directory or one of its files is missing.
        ValueError: A file is damaged, or the search does not fit the model.
    """
    providers: Sequence[Provider] | None = parse_providers(options.provider)
    manifest = Manifest.read(directory)
    search, family = search_options(manifest.search, given), manifest.family
    # A server loads the code of the families that it serves.
    if family == "encoder":
        from keras_transformer.serving.families.encoder import ServedEncoder

        return ServedEncoder(
            directory,
            max_text_length=options.max_source_length,
            num_hypotheses=search.num_hypotheses,
            threads=options.threads,
            providers=providers,
        )
    if family == "decoder":
        from keras_transformer.serving.families.generator import ServedGenerator

        return ServedGenerator(
            directory,
            search,
            max_text_length=options.max_source_length,
            threads=options.threads,
            providers=providers,
        )
    from keras_transformer.serving.models.model import ServedModel

    return ServedModel(
        directory,
        search,
        max_source_length=options.max_source_length,
        long_texts=options.long_texts,
        language=options.language,
        max_sentences=options.max_sentences,
        min_score=options.min_score,
        threads=options.threads,
        providers=providers,
    )
