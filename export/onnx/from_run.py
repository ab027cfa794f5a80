"""ONNX export of a training run, with the tokenizers and defaults that its directory records."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

from keras_transformer.artefact.shortlist import Shortlist
from keras_transformer.data.sources.corpus import Pairs

# Imported first: it says what to install if TensorFlow is missing.
from keras_transformer.export.onnx.export import export_onnx
from keras_transformer.export.onnx.settings import Quantization
from keras_transformer.export.onnx.shortlists.files import read_shortlist
from keras_transformer.export.onnx.shortlists.parallel_text import CANDIDATES, train_shortlist
from keras_transformer.generation.chat_template import ChatTemplate
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.training_text import TrainingText

from keras_transformer.models.transformer import Transformer  # isort: skip
from keras_transformer.runs.finished_run import load_run  # isort: skip
from keras_transformer.runs.run_directory import RunDirectory  # isort: skip


class OnnxKeywords(TypedDict, total=False):
    """The keywords of `export_onnx`, documented there; a test compares the two lists."""

    target_tokenizer: Tokenizer | None
    target: str
    quantize: str | None
    opset: int
    min_score: float | None
    overwrite: bool
    training_text: TrainingText | None
    search: Mapping[str, Any] | None
    chat: ChatTemplate | None
    quantization: Quantization | None
    adapters: bool
    progress: Callable[[str], object] | None


def export_run(
    run: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    shortlist: Shortlist | Pairs | str | os.PathLike[str] | None = None,
    shortlist_candidates: int = CANDIDATES,
    **options: Unpack[OnnxKeywords],
) -> Path:
    """Exports the model of a run, of any family, with its tokenizers and its defaults.

    Args:
        run: The run's directory.
        directory: Name of the artefact.
        shortlist: Parallel text (`read_parallel`), ideally that of the training, from which to
            learn the few target tokens that each source token may need, or a file that
            `read_shortlist` reads. If None, searches choose among all tokens.
        shortlist_candidates: How many target tokens a source token gets.
        **options: Keywords of `export_onnx`; they take precedence over the run's defaults.

    Returns:
        The artefact's path.

    Raises:
        FileExistsError: As for `export_onnx`.
        FileNotFoundError: A file of the run is missing.
        ImportError: As for `export_onnx`.
        ValueError: As for `export_onnx`, or the shortlist cannot be made.

    Example:
        `export_run("runs/demo", "exported/demo", quantize="int8")`
    """
    model, source, target = load_run(run)
    record = RunDirectory(Path(run))
    own: dict[str, Any] = {
        "target_tokenizer": None if target is source else target,
        "min_score": record.load_min_score(),
        "training_text": record.load_training_text(),
        "search": record.load_search(),
        "chat": record.load_chat_template(),
    }
    own["shortlist"] = _make(shortlist, shortlist_candidates, model, source, target)
    return export_onnx(model, source, directory, **{**own, **options})


def _make(
    shortlist: Any, candidates: int, model: Any, source: Tokenizer, target: Tokenizer
) -> Shortlist | None:
    """Reads a shortlist or learns it from parallel text."""
    if shortlist is None or isinstance(shortlist, Shortlist):
        return shortlist
    if not isinstance(model, Transformer):
        raise ValueError(
            f"a shortlist is for translation models, got a {type(model).__name__}: leave it out."
        )
    if not isinstance(shortlist, Pairs):
        return read_shortlist(shortlist, model.config, source, target, candidates)
    texts, origin = (shortlist.source, shortlist.target), shortlist.origin
    return train_shortlist(*texts, model.config, source, target, candidates, origin=origin)
