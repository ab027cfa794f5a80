"""ONNX export of a Keras model and its tokenizers.

The artefact appears under its name only after its graphs have been compared with Keras.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from keras_transformer import __version__
from keras_transformer.config.family import FAMILIES
from keras_transformer.distribution import DISTRIBUTION, imported_versions, install_command

try:
    from keras_transformer.export.inputs import AnyModel, check_inputs, check_shortlist, in_float32
    from keras_transformer.export.onnx.calibrate.calibration import Calibration
    from keras_transformer.export.onnx.calibrate.loss import check_loss
    from keras_transformer.export.onnx.check.numbers import check_numbers
    from keras_transformer.export.onnx.check.operators import check_operators
    from keras_transformer.export.onnx.expressible import check_expressible
    from keras_transformer.export.onnx.form import Form
    from keras_transformer.export.onnx.graph_sets import GraphSet, adapted_sets, graph_sets
    from keras_transformer.export.onnx.layers.adapters import check_can_adapt
    from keras_transformer.export.onnx.quantize.int4 import Int4Matrices
    from keras_transformer.export.onnx.quantize.precision import tolerance_of
    from keras_transformer.export.onnx.weights_file import save_graphs
except ModuleNotFoundError as error:
    raise ImportError(
        f"export_onnx needs {error.name}: install it with `{install_command('train')}`."
    ) from error

from keras_transformer.artefact.entries import (
    NativeGraphs,
    ShortlistFile,
    StoredFile,
    TokenizerFile,
)
from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import (
    MANIFEST_FILE,
    SHORTLIST_FILE,
    WEIGHTS_FILE,
    Manifest,
    sha256_of,
)
from keras_transformer.artefact.shortlist import Shortlist
from keras_transformer.export.onnx.settings import FASTEST, Quantization, check_settings
from keras_transformer.export.placement import placed
from keras_transformer.generation.chat_template import CHAT_TEMPLATE, ChatTemplate
from keras_transformer.models.lora.adaptation import base_digest
from keras_transformer.runtime.onnx_graphs.operators import (
    operators_revision,
    operators_version,
)
from keras_transformer.search.confidence import check_min_score
from keras_transformer.search.keywords import check_defaults
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.tokenizer_files import save_tokenizers
from keras_transformer.text.training_text import TrainingText


def export_onnx(
    model: AnyModel,
    tokenizer: Tokenizer,
    directory: str | os.PathLike[str],
    *,
    target_tokenizer: Tokenizer | None = None,
    target: str = FASTEST,
    quantize: str | None = None,
    opset: int = 18,
    min_score: float | None = None,
    overwrite: bool = False,
    training_text: TrainingText | None = None,
    search: Mapping[str, Any] | None = None,
    shortlist: Shortlist | None = None,
    chat: ChatTemplate | None = None,
    quantization: Quantization | None = None,
    adapters: bool = False,
    progress: Callable[[str], object] | None = None,
) -> Path:
    """Writes a model of any family as an ONNX artefact that our runtime and other languages run.

    The artefact appears under its name only when it is complete and its numbers agree with Keras
    to 1e-4. A model of another dtype policy is exported in float32, the type of its weights.

    Args:
        model: A model of `build_transformer`, `build_encoder` or `build_decoder`.
        tokenizer: The tokenizer, or the source's if there are two vocabularies.
        directory: Name of the artefact, which is first written beside its final place.
        target_tokenizer: The target tokenizer, if there are two vocabularies.
        target: "onnxruntime" for graphs with its fused operators; "native" for graphs with this
            package's own as well, which run only if this package is installed and was compiled;
            "fastest" for both over one file of weights, of which our runtime takes the faster ones
            on its machine; "portable" for standard ONNX operators only, for other runtimes. If a
            target cannot hold the model, another is written, and the manifest says why.
        quantize: How to make weights smaller, or None: "int8" (see `quantize/int8.py`),
            "int8_batch_dependent", which is faster in large batches but lets the result of a
            sentence depend slightly on the rest of its batch, "int4" (see `quantize/int4.py`), half
            as large as int8 and less precise, "bfloat16", for this package's own operators on
            processors with AMX, or "float16", for GPUs.
        opset: ONNX operator set, from 18 to the newest that the installed onnx and onnxruntime
            read, or for "portable" to the newest that tf2onnx writes.
        min_score: Log-probability per token below which a translation has low confidence; None for
            no limit. `export_run` takes this and `training_text` from the run.
        overwrite: Replace the directory if it exists.
        training_text: Statistics of the model's training lines (`load_training_text` reads a
            run's), for splitting texts later; single sentences are assumed if None.
        search: Default values for fields of `SearchOptions` (`load_search` reads those of a run).
        shortlist: The target tokens that each source token may need, from `read_shortlist` or
            `train_shortlist`. Searches choose only among these, which is faster; among all tokens
            if None.
        chat: The template of chats, which the server renders; None if the model has none.
        quantization: How weights are quantised, and on which texts; the defaults if None.
        adapters: Let the graphs of a decoder take low-rank adapters, of which each text of a batch
            has one or none (`OnnxGenerator`'s `adapters`); in float32 for `target` "onnxruntime".
        progress: Called with a line about the loss on these texts, such as `print`.

    Returns:
        The artefact's path.

    Raises:
        FileExistsError: The directory exists and `overwrite` is False, or it is not an artefact.
        TypeError: The model does not come from one of these functions.
        ImportError: `target` is "native" and this package's operators are not compiled here
            or cannot be loaded.
        ValueError: A tokenizer's size is not the model's, `opset` is too old or too new, the graphs
            cannot hold an option of the model, they differ from Keras, or they lose more on texts
            than `quantization` allows.
    """
    final = Path(os.path.abspath(directory))
    check_settings(final, target=target, quantize=quantize, opset=opset, overwrite=overwrite)
    check_inputs(model, tokenizer, target_tokenizer or tokenizer)
    check_min_score(min_score)
    own = check_defaults(search or {})
    if adapters and target == FASTEST:
        target = "onnxruntime"
    form = replace(Form.choose(model, target, quantize, opset), has_adapters=adapters)
    if adapters:
        check_can_adapt(model, form.target, form.precision)
    check_expressible(model.config, form.target, form.precision)
    check_shortlist(model, shortlist)
    chosen = quantization or Quantization()
    chosen.check_precision(quantize)
    if shortlist is not None and chosen.calibration is not None:
        raise ValueError(
            "the loss on a calibration text is measured among all tokens: leave out the shortlist "
            "or the calibration."
        )
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
            chat,
            chosen,
            progress or (lambda line: None),
        )
    return Path(directory)


def _write(
    model: AnyModel,
    tokenizer: Tokenizer,
    target_tokenizer: Tokenizer | None,
    directory: Path,
    form: Form,
    training_text: TrainingText | None,
    min_score: float | None,
    search: Mapping[str, Any],
    shortlist: Shortlist | None,
    chat: ChatTemplate | None,
    quantization: Quantization,
    progress: Callable[[str], object],
) -> None:
    both = (tokenizer, target_tokenizer or tokenizer)
    blocks, texts = quantization.int4_form, quantization.calibration
    calibration = None if texts is None else Calibration(model, *both, texts, form.opset)
    int4 = Int4Matrices(blocks) if calibration is None else calibration.matrices(blocks)
    if form.has_adapters:
        sets = adapted_sets(model)
    else:
        sets = graph_sets(model.config, form, has_shortlist=shortlist is not None, int4=int4)
    graphs = chain.from_iterable(each.emit(model, form) for each in sets)
    save_graphs(graphs, directory, WEIGHTS_FILE)
    files = {
        side: TokenizerFile(file=name, sha256=sha256_of(directory / name), kind=one.kind)
        for side, name, one in zip(
            FAMILIES[model.config.family].tokenizers,
            save_tokenizers(directory, *both),
            both,
            strict=False,  # A model with one stack has one side.
        )
    }
    if shortlist is not None:
        shortlist.write(directory / SHORTLIST_FILE)
    manifest = _describe(model, directory, files, form, sets, shortlist)
    difference = _check(model, manifest, directory)
    if calibration is not None:
        loss = calibration.loss(manifest, ArtefactFiles(directory))
        check_loss(loss, quantization.max_loss)
        progress(loss.text)
    replace(
        manifest,
        max_difference=difference,
        training_text=training_text,
        min_score=min_score,
        search=search,
        chat=None if chat is None else _write_chat(chat, directory),
    ).write(directory)
    Manifest.read(directory).verify(directory)


def _write_chat(chat: ChatTemplate, directory: Path) -> StoredFile:
    path = directory / CHAT_TEMPLATE
    path.write_text(chat.to_json(), encoding="utf-8")
    return StoredFile(file=CHAT_TEMPLATE, sha256=sha256_of(path))


def _check(model: AnyModel, manifest: Manifest, directory: Path) -> float:
    """Checks the graphs of every target; returns their largest difference from Keras."""
    for target in manifest.targets:
        for graph in manifest.of_target(target).graphs.values():
            check_operators(
                directory / graph.file, portable=target == "portable", native=target == "native"
            )
    return check_numbers(
        model, manifest, ArtefactFiles(directory), tolerance_of(manifest.precision)
    )


def _describe(
    model: AnyModel,
    directory: Path,
    tokenizers: dict[str, TokenizerFile],
    form: Form,
    sets: Sequence[GraphSet],
    shortlist: Shortlist | None,
) -> Manifest:
    graphs, *native = (each.describe(directory, form) for each in sets)
    packages = ("tensorflow", "keras", "tf2onnx", "onnx")
    return Manifest(
        config=model.config.to_dict(),
        special_ids=model.config.special_ids,
        target=form.target,
        native=NativeGraphs(
            operators_version=operators_version(),
            operators_revision=operators_revision(),
            graphs=native[0],
        )
        if native
        else None,
        operators_version=operators_version() if form.target == "native" else None,
        operators_revision=operators_revision() if form.target == "native" else None,
        precision=form.precision,
        opset=form.opset,
        graphs=graphs,
        weights=StoredFile(file=WEIGHTS_FILE, sha256=sha256_of(directory / WEIGHTS_FILE)),
        tokenizers=tokenizers,
        max_difference=0.0,
        fallback=form.fallback,
        producer={DISTRIBUTION: __version__, **imported_versions(*packages)},
        shortlist=None if shortlist is None else _describe_shortlist(shortlist, directory),
        adapter_base=base_digest(model) if form.has_adapters else None,
    )


def _describe_shortlist(shortlist: Shortlist, directory: Path) -> ShortlistFile:
    return ShortlistFile(
        file=SHORTLIST_FILE,
        sha256=sha256_of(directory / SHORTLIST_FILE),
        origin=shortlist.origin,
        always=len(shortlist.always),
        candidates=round(shortlist.candidates_of_each, 1),
    )
