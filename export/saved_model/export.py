"""Export of a run, or a model with its tokenizers, as a SavedModel for TensorFlow Serving: a
version directory that gets its name only after it was checked.
"""

import gc
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Unpack

from keras_transformer import __version__
from keras_transformer.distribution import DISTRIBUTION, imported_versions, install_command
from keras_transformer.garbage import quick_collections

try:
    import tensorflow as tf

    from keras_transformer.export.saved_model.checks import (
        Answers,
        check_answers,
        check_operators,
        live_answers,
    )
    from keras_transformer.export.saved_model.content import Content, Settings
    from keras_transformer.export.saved_model.encoder.content import EncoderContent
    from keras_transformer.export.saved_model.requests import SignatureInputs
    from keras_transformer.export.saved_model.search_content import SearchContent
    from keras_transformer.export.saved_model.unoptimized import unoptimized
    from keras_transformer.export.saved_model.warmup import can_write_warmup, write_warmup
    from keras_transformer.text.graph_tokenizer import can_be_read_in_graphs
except ModuleNotFoundError as error:
    raise ImportError(
        f"export_saved_model needs {error.name}: install it with `{install_command('train')}`."
    ) from error

from keras_transformer.export.placement import placed
from keras_transformer.export.saved_model.settings import (
    DESCRIPTION_FILE,
    SignatureKind,
    check_settings,
)
from keras_transformer.markup.casing import Casing, recases
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.transformer import Transformer
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.confidence import check_min_score
from keras_transformer.search.keywords import SearchKeywords, with_defaults
from keras_transformer.search.model_limits import MAX_SOURCE_LENGTH
from keras_transformer.text.tokenizer import Tokenizer

_PACKAGES = ("tensorflow", "tensorflow-text", "keras")


def export_saved_model(
    run_or_model: str | os.PathLike[str] | Transformer,
    directory: str | os.PathLike[str],
    *,
    tokenizer: Tokenizer | None = None,
    target_tokenizer: Tokenizer | None = None,
    version: int = 1,
    signatures: SignatureKind = "text",
    max_source_length: int = MAX_SOURCE_LENGTH,
    min_score: float | None = None,
    casing: Casing = "auto",
    overwrite: bool = False,
    progress: Callable[[str], object] | None = None,
    **options: Unpack[SearchKeywords],
) -> Path:
    """Writes `<directory>/<version>/` for TensorFlow Serving; other versions stay as they are.

    The version appears under its name only when it is complete and answers in a session as the live
    model does. A model of another dtype policy is exported in float32, the type of its weights.
    Its `assets.extra/export.json` says what it was made from and what a server must have.

    Args:
        run_or_model: A training run's directory, or a model of `build_transformer`.
        directory: The base directory of all versions.
        tokenizer: A model's source tokenizer, also the target's if the vocabulary is shared; a run
            has its own.
        target_tokenizer: A model's target tokenizer, if there are two vocabularies.
        version: Number of the version, at least 1. Servers take the highest.
        signatures: "text" for signatures from strings to strings; "ids" for ids to ids, without
            operators of tensorflow-text, which a server may have in an older version or not at all.
            A vocabulary of a `tokenizer.json` always gives "ids": TensorFlow has no operator for
            it.
        max_source_length: Most tokens of a source; longer ones are cut. Never more than learned
            positions allow.
        min_score: Log-probability a token below which confidence is low, for `translate_n_best`;
            the run's if None. There is no `low_confidence` if neither is known.
        casing: Whether a translator reads texts in capitals as sentences and translates them in
            capitals: "auto" if few of a run's training lines were in capitals, or nobody knows, as
            of imported models; "recase" or "keep".
        overwrite: Replace the version if it exists.
        progress: Called with a line of text as each stage begins, such as `print`.
        **options: Fields of `SearchOptions`, fixed in the graph; no sampling. The others are
            the run's own, if its model was imported with some.

    Returns:
        The version's path.

    Raises:
        FileExistsError: The version exists and `overwrite` is False, or it is not an export.
        FileNotFoundError: A file of the run is missing.
        TypeError: The model is not a `Transformer`, its tokenizer is missing, or an option is
            unknown or of the wrong type.
        ValueError: An option is out of range, a tokenizer's size differs from the model's, the
            directory is an ONNX artefact, or the answers differ.

    Example:
        `export_saved_model("runs/demo", "exported/demo_tf", beam_size=4)`
    """
    base = Path(os.path.abspath(directory))
    check_settings(
        base,
        version=version,
        signatures=signatures,
        max_source_length=max_source_length,
        casing=casing,
        overwrite=overwrite,
    )
    check_min_score(min_score)
    search: Mapping[str, Any] = options
    if isinstance(run_or_model, str | os.PathLike):
        run = RunDirectory(Path(run_or_model))
        min_score = run.load_min_score() if min_score is None else min_score
        search = with_defaults(run.load_search(), options)
        casing = casing if recases(casing, run.load_training_text()) else "keep"
    progress = progress or (lambda line: None)
    model, source, target = _open(run_or_model, tokenizer, target_tokenizer)
    if signatures == "text" and not all(map(can_be_read_in_graphs, (source, target))):
        progress(
            "TensorFlow has no operator that reads a tokenizer.json: the signatures take and give "
            "token ids"
        )
        signatures = "ids"
    chosen = Settings(
        kind=signatures,
        max_source_length=max_source_length,
        min_score=min_score,
        casing=casing,
        options=dict(search),
    )
    kind: type[Content] = EncoderContent if isinstance(model, EncoderOnly) else SearchContent
    content = kind.make(model, source, target, chosen)
    final = base / str(version)
    with placed(final, mark=DESCRIPTION_FILE, overwrite=overwrite) as temporary:
        _write(content, temporary, base.name, chosen.kind, progress)
    return Path(directory) / str(version)


def _open(
    run_or_model: Any, tokenizer: Tokenizer | None, target_tokenizer: Tokenizer | None
) -> tuple[Transformer, Tokenizer, Tokenizer]:
    """Returns the model and its source and target tokenizers."""
    if isinstance(run_or_model, str | os.PathLike):
        if tokenizer is not None or target_tokenizer is not None:
            raise TypeError(f"the run {os.fspath(run_or_model)} has its own tokenizers: give none.")
        return load_run(run_or_model)
    if tokenizer is None:
        raise TypeError("a model needs its tokenizer: give tokenizer=..., or a run's directory.")
    return run_or_model, tokenizer, target_tokenizer or tokenizer


def _write(
    content: Content,
    directory: Path,
    name: str,
    kind: SignatureKind,
    progress: Callable[[str], object],
) -> None:
    requests = content.requests
    with quick_collections():
        wanted = _save(content, requests, directory, progress)
        # The functions' graphs refer to themselves; without a collection they would still be in
        # memory beside the session's graph.
        gc.collect()
    progress("comparing its answers in a session")
    operators = check_operators(directory, len(content.model.weights))
    difference = check_answers(directory, wanted, requests)
    (directory / DESCRIPTION_FILE).parent.mkdir()
    if can_write_warmup():
        write_warmup(directory, name, requests)
    description = {
        "signatures": kind,
        "operators_outside_tensorflow": operators,
        "warmup": can_write_warmup(),
        "config": content.model.config.to_dict(),
        **content.describe(),
        "max_difference": difference,
        "producer": {DISTRIBUTION: __version__, **imported_versions(*_PACKAGES)},
    }
    text = json.dumps(description, indent=2) + "\n"
    (directory / DESCRIPTION_FILE).write_text(text, encoding="utf-8")


def _save(
    content: Content,
    requests: dict[str, SignatureInputs],
    directory: Path,
    progress: Callable[[str], object],
) -> Answers:
    """Writes the SavedModel; returns the answers of its live functions to the requests."""
    progress("tracing the signatures")
    module = tf.Module()
    # Not the Keras model itself: a session would not find its variables.
    module.weights = [weight.value for weight in content.model.weights]
    with unoptimized():
        functions = content.trace(module)
    progress("writing the SavedModel")
    tf.saved_model.save(module, str(directory), signatures=functions)
    progress("asking the live model")
    return live_answers(functions, requests)
