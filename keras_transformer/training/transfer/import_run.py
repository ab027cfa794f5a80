"""A model of another toolkit as a run directory, which all commands read."""

import os
from pathlib import Path

import numpy as np

from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.runs.finished_run import write_finished_run
from keras_transformer.runs.run_directory import IMPORTED, SEARCH, RunDirectory
from keras_transformer.whole_files import check_output


def import_run(
    directory: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Path:
    """Reads a model and writes a finished run of it.

    Args:
        directory: Where the model's config, weights and vocabularies are, or a GGUF file.
        output: The run directory to write.
        overwrite: Replace the model of a run that was imported there before.
        source_language: Code of the language that texts are in by default, for a model of several.
        target_language: Code of the language to translate into by default.

    Returns:
        The run directory.

    Raises:
        FileNotFoundError: There is no such directory.
        FileExistsError: `output` holds something.
        ImportRefusedError: Its format is unknown, or a file of it cannot be imported.
        ValueError: The model does not know a language.
        OSError: `output` cannot be written.
    """
    place = RunDirectory(Path(output))
    check_output(place.path, is_directory=True)
    if place.path.exists() and any(place.path.iterdir()) and not overwrite:
        raise FileExistsError(f"{place.path} is not empty: name another output, or --overwrite it.")
    if place.has_checkpoints:
        raise FileExistsError(f"{place.path} holds a training run: name another output.")
    imported = read_pretrained(directory)
    if source_language is not None or target_language is not None:
        imported = imported.between(source_language, target_language)
    if imported.left_out:
        print(f"{directory}: of its search, this is not taken over: {', '.join(imported.left_out)}")
    for side, tokenizer in zip(("source", "target"), imported.tokenizers, strict=True):
        lacking = tokenizer.subwords.unknown_pieces
        if lacking:
            print(
                f"{directory}: the vocabulary lacks {lacking} pieces of the {side}'s SentencePiece "
                "model: where a text has them, it is unknown"
            )
    record = {IMPORTED: {"format": imported.format, "origin": imported.tensors.origin}}
    record[SEARCH] = dict(imported.search)
    model = imported.build()
    unused = {
        name: imported.tensors[name].astype(np.float32) for name in imported.names_unused(model)
    }
    if unused:
        print(
            f"{directory}: no part of the model reads these weights, which are kept for "
            f"`export --format huggingface`: {', '.join(unused)}"
        )
    write_finished_run(place, model, imported.tokenizers, record, unused, imported.chat)
    return place.path
