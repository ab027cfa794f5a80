"""Takes a Keras model and its tokenizers and writes the ONNX artefact: a directory that gets its
name only after it was checked against Keras.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from keras_transformer import __version__
from keras_transformer.distribution import DISTRIBUTION, imported_versions, install_command

try:
    import onnx

    from keras_transformer.export.onnx.check.numbers import check_numbers
    from keras_transformer.export.onnx.check.operators import check_operators
    from keras_transformer.export.onnx.graphs.specs import Specs, graph_specs
    from keras_transformer.export.onnx.graphs.target import Target
    from keras_transformer.export.onnx.layers.attention.kinds import is_fused
    from keras_transformer.export.onnx.quantize.precision import (
        in_precision_spec,
        target_in,
        tolerance_of,
    )

    from ..inputs import AnyModel, check_inputs, check_shortlist, in_float32
    from .expressible import check_expressible
    from .weights_file import save_graphs
except ModuleNotFoundError as error:
    raise ImportError(
        f"export_onnx needs {error.name}: install it with `{install_command('train')}`."
    ) from error

from keras_transformer.artefact.families import graph_file, tokenizer_names
from keras_transformer.artefact.manifest import (
    MANIFEST_FILE,
    SHORTLIST_FILE,
    WEIGHTS_FILE,
    Graph,
    Manifest,
    ShortlistFile,
    StoredFile,
    TokenizerFile,
    sha256_of,
)
from keras_transformer.artefact.shortlist import Shortlist
from keras_transformer.runtime.onnx_graphs.operators import operators_version
from keras_transformer.search.confidence import check_min_score
from keras_transformer.search.defaults import check_defaults
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.tokenizer_files import save_tokenizers
from keras_transformer.text.training_text import TrainingText

from ..placement import placed
from .settings import check_settings


def export_onnx(
    model: AnyModel,
    tokenizer: Tokenizer,
    directory: str | os.PathLike[str],
    *,
    target_tokenizer: Tokenizer | None = None,
    target: str = "onnxruntime",
    quantize: str | None = None,
    opset: int = 18,
    min_score: float | None = None,
    overwrite: bool = False,
    training_text: TrainingText | None = None,
    search: Mapping[str, Any] | None = None,
    shortlist: Shortlist | None = None,
) -> Path:
    """Writes a model of any family as an ONNX artefact that our runtime and other languages run.

    The artefact appears under its name only when it is complete and its numbers agree with Keras
    to 1e-4. A model of another dtype policy is exported in float32, the type of its weights.

    Args:
        model: A model of `build_transformer`, `build_encoder` or `build_decoder`.
        tokenizer: The tokenizer, or the source's if there are two vocabularies.
        directory: Name of the artefact, which is first written beside its final place.
        target_tokenizer: The target tokenizer, if there are two vocabularies.
        target: "onnxruntime" for graphs with its fused operators; "native" for this package's own
            as well, the fastest, which run only if this package is installed and was compiled;
            "portable" for standard ONNX operators only, for other runtimes. If a target cannot
            hold the model, another is written, and the manifest says why.
        quantize: How to make weights smaller, or None: "int8" (see `quantize/int8.py`),
            "int8_batch_dependent", which is faster in large batches, but lets a sentence's result
            depend a little on the others in its batch, or "float16", for GPUs.
        opset: ONNX operator set, 18 or newer.
        min_score: Log-probability a token below which a translation has low confidence; the
            artefact knows none if None. `export_run` takes a run's, and its `training_text`.
        overwrite: Replace the directory if it exists.
        training_text: What the model's training lines looked like (`load_training_text` reads a
            run's), for splitting texts later; single sentences are assumed if None.
        search: Fields of `SearchOptions` that hold where a caller gives none (`load_search` reads
            a run's).
        shortlist: The target tokens that each source token may need, from `read_shortlist` or
            `train_shortlist`: searches choose among them, which is faster. Among all tokens if
            None.

    Returns:
        The artefact's path.

    Raises:
        FileExistsError: The directory exists and `overwrite` is False, or it is not an artefact.
        TypeError: The model is none of these.
        ImportError: `target` is "native" and this package's operators are not compiled here
            or cannot be loaded.
        ValueError: A tokenizer's size is not the model's, `opset` is too old, the graphs cannot
            hold an option of the model, or they differ from Keras.
    """
    final = Path(os.path.abspath(directory))
    check_settings(final, target=target, quantize=quantize, opset=opset, overwrite=overwrite)
    check_inputs(model, tokenizer, target_tokenizer or tokenizer)
    check_min_score(min_score)
    own = check_defaults(search or {})
    form = _Form.choose(model, target, quantize, opset)
    check_expressible(model.config, form.target, form.precision)
    check_shortlist(model, shortlist)
    with placed(final, mark=MANIFEST_FILE, overwrite=overwrite) as temporary:
        _write(
            in_float32(model),
            tokenizer,
            target_tokenizer,
            temporary,
            form,
            training_text,
            min_score,
            own,
            shortlist,
        )
    return Path(directory)


@dataclass(frozen=True)
class _Form:
    """The target, precision and opset that the graphs are written in."""

    target: str
    precision: str
    opset: int
    fallback: str | None

    @classmethod
    def choose(cls, model: AnyModel, target: str, quantize: str | None, opset: int) -> "_Form":
        precision = quantize or "float32"
        if precision == "float16" and target != "portable":
            reason = "onnxruntime's fused operators have no float16 form for every provider"
            return cls("portable", precision, opset, reason)
        if target == "native" and not is_fused(model.config):
            widths = f"key_dim ({model.config.key_dim}) is not value_dim ({model.config.value_dim})"
            reason = f"{widths}, as this package's attention operators need it"
            return cls("onnxruntime", precision, opset, reason)
        return cls(target, precision, opset, None)


def _write(
    model: AnyModel,
    tokenizer: Tokenizer,
    target_tokenizer: Tokenizer | None,
    directory: Path,
    form: _Form,
    training_text: TrainingText | None,
    min_score: float | None,
    search: Mapping[str, Any],
    shortlist: Shortlist | None,
) -> None:
    target = target_in(form.precision, form.target, has_shortlist=shortlist is not None)
    specs = graph_specs(model.config, None if shortlist is None else target.listing)
    save_graphs(_graphs(model, form, target, specs), directory, WEIGHTS_FILE)
    both = (tokenizer, target_tokenizer or tokenizer)
    files = {
        side: TokenizerFile(file=name, sha256=sha256_of(directory / name), kind=one.kind)
        for side, name, one in zip(
            tokenizer_names(model.config.to_dict()),
            save_tokenizers(directory, *both),
            both,
            strict=False,  # A model with one stack has one side.
        )
    }
    if shortlist is not None:
        shortlist.write(directory / SHORTLIST_FILE)
    manifest = _describe(model, directory, files, form, specs, shortlist)
    for graph in manifest.graphs.values():
        check_operators(
            directory / graph.file,
            portable=form.target == "portable",
            native=form.target == "native",
        )
    difference = check_numbers(model, manifest, directory, tolerance_of(form.precision))
    replace(
        manifest,
        max_difference=difference,
        training_text=training_text,
        min_score=min_score,
        search=search,
    ).write(directory)
    Manifest.read(directory).verify(directory)


def _graphs(
    model: AnyModel, form: _Form, target: Target, names: Iterable[str]
) -> Iterator[tuple[str, onnx.ModelProto]]:
    """Yields each graph with its file's name, one at a time, as a graph holds all its weights."""
    for name in names:
        yield graph_file(name), target.graph(name, model, form.opset)


def _describe(
    model: AnyModel,
    directory: Path,
    tokenizers: dict[str, TokenizerFile],
    form: _Form,
    specs: Mapping[str, Specs],
    shortlist: Shortlist | None,
) -> Manifest:
    graphs = {
        name: Graph(
            file=graph_file(name),
            sha256=sha256_of(directory / graph_file(name)),
            inputs=tuple(in_precision_spec(spec, form.precision) for spec in inputs),
            outputs=tuple(in_precision_spec(spec, form.precision) for spec in outputs),
        )
        for name, (inputs, outputs) in specs.items()
    }
    packages = ("tensorflow", "keras", "tf2onnx", "onnx")
    return Manifest(
        config=model.config.to_dict(),
        special_ids=model.config.special_ids,
        target=form.target,
        operators_version=operators_version() if form.target == "native" else None,
        precision=form.precision,
        opset=form.opset,
        graphs=graphs,
        weights=StoredFile(file=WEIGHTS_FILE, sha256=sha256_of(directory / WEIGHTS_FILE)),
        tokenizers=tokenizers,
        max_difference=0.0,
        fallback=form.fallback,
        producer={DISTRIBUTION: __version__, **imported_versions(*packages)},
        shortlist=None if shortlist is None else _describe_shortlist(shortlist, directory),
    )


def _describe_shortlist(shortlist: Shortlist, directory: Path) -> ShortlistFile:
    return ShortlistFile(
        file=SHORTLIST_FILE,
        sha256=sha256_of(directory / SHORTLIST_FILE),
        origin=shortlist.origin,
        always=len(shortlist.always),
        candidates=round(shortlist.candidates_of_each, 1),
    )
