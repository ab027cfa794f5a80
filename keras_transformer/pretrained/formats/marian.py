"""Marian's own files (Junczys-Dowmunt et al. 2018): an `.npz` that holds weights and, as YAML, the
model's options; vocabularies as `.spm`, or as YAML beside `.spm`.

Marian has no padding and begins a translation with a vector of zeros: here the last id of the
vocabulary is the padding, its vector is zeros, and its logit's bias keeps it from being written.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from keras_transformer.config import SpecialIds, TransformerConfig
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.layers.recurrences.ssru import SSRU
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.formats.marian_search import left_out, read_search
from keras_transformer.pretrained.formats.marian_vocabulary import read_vocabulary
from keras_transformer.pretrained.imported import Imported
from keras_transformer.pretrained.pointers import refuse_pointer
from keras_transformer.pretrained.sentencepiece_models import model_beside, read_model, tokenizer_of
from keras_transformer.pretrained.tensor_files import Tensors, open_npz
from keras_transformer.pretrained.values import FileValues, read_text, read_yaml
from keras_transformer.pretrained.weight_table import NEVER, Entry
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.whole_files import numpy_archive

OPTIONS = "special:model.yml"
EPSILON = 1e-9  # Marian's layerNorm.

# What a model must have chosen, since nothing here computes anything else.
_FIXED: dict[str, Any] = {
    "type": "transformer",
    "transformer-ffn-depth": 2,
    "transformer-decoder-ffn-depth": 0,
    "transformer-decoder-dim-ffn": 0,
    "transformer-disable-position-embeddings": False,
    "transformer-train-position-embeddings": False,
    "transformer-no-affine": False,
    "transformer-no-bias": False,
    "transformer-no-projection": False,
    "transformer-pool": False,
    "transformer-rnn-projection": False,
    "transformer-tied-layers": [],
    "transformer-postprocess-emb": "d",
    "transformer-attention-mask": "default",
    "factors-dim-emb": 0,
    "lemma-dependency": "",
    "right-left": False,
    "ulr": False,
    "input-types": [],
}
ACTIVATIONS = {"swish": "silu", "relu": "relu", "gelu": "gelu"}
# How files name a side.
_SIDES = {"source": ("src", "source"), "target": ("trg", "tgt", "target")}
# Marian's names of what a decoder's block has first, with the cell if it is a recurrence.
_ATTENDS = ("self-attention", None)
AUTOREGRESSIONS: dict[tuple[str, str | None], Literal["ssru"] | None] = {
    _ATTENDS: None,
    ("rnn", "ssru"): "ssru",
}
# Marian: norm before or after, dropout and addition; see `transformer-preprocess` there.
NORMS = {("", "dan", ""): "post", ("n", "da", "n"): "pre"}


def is_marian(directory: Path) -> bool:
    """Whether a directory holds an `.npz` of Marian."""
    return bool(_models(directory))


def read_marian(directory: Path) -> Imported:
    """Reads a directory.

    Raises:
        ImportRefusedError: A file is missing or damaged, or the model is of a kind that is not
            supported; the message names the option.
    """
    found = _models(directory)
    if len(found) != 1:
        names = ", ".join(path.name for path in found)
        raise ImportRefusedError(f"{directory} holds several models ({names}): leave one there.")
    tensors = open_npz(found[0])
    options = _options(tensors)
    sizes = [
        FileValues(options.origin, {"dim-vocabs": size}).vocab_size("dim-vocabs")
        for size in options.sequence("dim-vocabs")
    ]
    files = _vocabularies(directory, found[0])
    total = max(sizes) + 1
    ids = [None if path.suffix == ".spm" else read_vocabulary(path) for path in files]
    source, target = (
        _tokenizer(path, side, one, total)
        for path, side, one in zip(files, ("source", "target"), ids, strict=True)
    )
    if source.model == target.model:
        target = source
    config = replace(
        _config(options, total, source.special_ids), marks=SentenceMarks.of_tags(ids[0] or {})
    )
    decoder = _decoder(directory)
    return Imported(
        "marian",
        config,
        lambda model: list(marian_table(model, shared="Wemb" in tensors)),
        tensors,
        (source, target),
        unread=("special:",),
        search=read_search(decoder),
        left_out=left_out(decoder),
    )


def _models(directory: Path) -> list[Path]:
    """Returns the files that hold a model: those of the optimizer and the like do not."""
    found = []
    for path in sorted(directory.glob("*.npz*")):
        if path.suffix in (".yml", ".json") or ".optimizer." in path.name:
            continue
        refuse_pointer(path)
        try:
            with numpy_archive(path) as file:
                if OPTIONS in file.files:
                    found.append(path)
        except Exception:  # noqa: S112 - not a model that we can tell; others may be.
            continue
    return found


def _options(tensors: Tensors) -> FileValues:
    origin = f"{tensors.origin}: {OPTIONS}"
    try:
        text = tensors[OPTIONS].tobytes().decode("utf-8").rstrip("\0")
    except UnicodeDecodeError as error:
        raise ImportRefusedError(f"{origin} is not text in UTF-8: {error}.") from error
    options = FileValues(origin, read_yaml(origin, text))
    for name, expected in _FIXED.items():
        value = options.get(name, expected)
        if value != expected:
            raise ImportRefusedError(
                f"{tensors.origin} has {name}: {value!r}, and only {expected!r} is supported."
            )
    return options


def _config(options: FileValues, total: int, vocabulary: SpecialIds) -> TransformerConfig:
    steps = tuple(
        options.text(f"transformer-{name}", "")
        for name in ("preprocess", "postprocess", "postprocess-top")
    )
    activation = options.text("transformer-ffn-activation")
    if steps not in NORMS or activation not in ACTIVATIONS:
        raise ImportRefusedError(
            f"the model has transformer-preprocess, -postprocess and -postprocess-top {steps} and "
            f"transformer-ffn-activation {activation!r}: of these {list(NORMS)} and "
            f"{list(ACTIVATIONS)} are supported."
        )
    autoregression = options.text("transformer-decoder-autoreg", _ATTENDS[0])
    cell = options.text("dec-cell", None)
    first = (autoregression, cell if autoregression == "rnn" else None)
    if first not in AUTOREGRESSIONS:
        raise ImportRefusedError(
            f"the model has transformer-decoder-autoreg: {first[0]!r} and dec-cell: "
            f"{cell!r}, and only 'self-attention', or 'rnn' with 'ssru', is "
            "supported."
        )
    sharing = "none"
    if options["tied-embeddings-all"] or (
        options["tied-embeddings"] and options["tied-embeddings-src"]
    ):
        sharing = "all"
    elif options["tied-embeddings"]:
        sharing = "target"
    return TransformerConfig(
        source_vocab_size=total,
        target_vocab_size=total,
        share_embeddings=sharing,  # type: ignore[arg-type]
        logit_bias=True,
        model_dim=options.integer("dim-emb"),
        feed_forward_dim=options.integer("transformer-dim-ffn"),
        num_heads=options.integer("transformer-heads"),
        num_encoder_layers=options.integer("enc-depth"),
        num_decoder_layers=options.integer("dec-depth"),
        decoder_recurrence=AUTOREGRESSIONS[first],
        activation=ACTIVATIONS[activation],
        norm=NORMS[steps],  # type: ignore[arg-type]
        layer_norm_epsilon=EPSILON,
        sinusoid_layout="tensor2tensor",
        special_ids=replace(vocabulary, decoder_start=total - 1),
    )


def _vocabularies(directory: Path, model: Path) -> list[Path]:
    """Returns the vocabularies of source and target."""
    if any(directory.glob("*decoder.yml")):
        named = _decoder(directory).sequence("vocabs", [])
        files = [directory / Path(str(name)).name for name in named]
    else:
        # Where there are ids of pieces, those of a SentencePiece model are not the model's.
        files = sorted(directory.glob("*vocab.y*ml")) or sorted(directory.glob("*.spm"))
        files = files * 2 if len(files) == 1 else [one for one in files if _side(one)]
    if len(files) != 2 or not all(path.is_file() for path in files):
        raise ImportRefusedError(
            f"{directory} must hold the vocabularies of {model.name}: one .spm or vocab.yml file, "
            "two with src and trg in their names, or the two that a decoder.yml names under vocabs "
            "(source, then target)."
        )
    return files


def _side(path: Path) -> str | None:
    """Returns which side a file's name tells, "source" or "target"; in this order they sort."""
    found = [side for side, parts in _SIDES.items() if any(part in path.name for part in parts)]
    return found[0] if len(found) == 1 else None


def _decoder(directory: Path) -> FileValues:
    """Returns what the directory's `decoder.yml` says; nothing if there is none."""
    for path in sorted(directory.glob("*decoder.yml")):
        return FileValues(path, read_yaml(path, read_text(path)))
    return FileValues(directory, {})


def _tokenizer(path: Path, side: str, ids: dict[str, int] | None, total: int) -> Tokenizer:
    """Returns a side's tokenizer: its `.spm`, or the SentencePiece model beside its YAML."""
    if ids is None:
        return tokenizer_of(read_model(path), vocab_size=total)
    return tokenizer_of(read_model(model_beside(path.parent, side)), ids=ids, vocab_size=total)


def marian_table(model: Any, *, shared: bool) -> Iterator[Entry]:
    """Yields the entries of a model; Marian's kernels are `(in, out)`, its vectors `(1, n)`.

    Args:
        model: Ours.
        shared: Whether source and target have one matrix of embeddings.
    """
    if shared:
        yield Entry(model.source_embeddings.tokens.matrix, "Wemb", fill=0.0)
    else:
        yield Entry(model.source_embeddings.tokens.matrix, "encoder_Wemb", fill=0.0)
        yield Entry(model.target_embeddings.tokens.matrix, "decoder_Wemb", fill=0.0)
    if model.head.linear is not None:
        yield Entry(model.head.linear.kernel, "decoder_ff_logit_out_W", fill=0.0, id_axis=1)
    yield Entry(model.head.bias, "decoder_ff_logit_out_b", fill=NEVER, lead=1)
    for side, stack in (("encoder", model.encoder_stack), ("decoder", model.decoder_stack)):
        suffix = "_pre" if stack.final_norm is not None else ""
        for number, block in enumerate(stack.blocks, start=1):
            for part in block.sub_layers:
                kind = {"own": "self", "source": "context", None: "ffn"}[part.attends_to]
                here = f"{side}_l{number}_{kind}"
                if isinstance(part.layer, SSRU):
                    here = f"{side}_l{number}_rnn"
                    yield Entry(part.layer.candidate.kernel, f"{here}_W")
                    yield Entry(part.layer.forget.kernel, f"{here}_Wf")
                    yield Entry(part.layer.forget.bias, f"{here}_bf", lead=1)
                    # Marian's name differs with the place of this norm.
                    norm = f"{here}_ln" if suffix else f"{here}_ffn_ln"
                    yield from _norm(part.residual.layer_norm, norm, suffix)
                    continue
                if part.attends_to is None:
                    layers = {"1": part.layer.hidden, "2": part.layer.output_linear}
                    norm = f"{here}_ffn_ln"
                else:
                    linears = part.layer.linear_layers
                    layers = dict(zip(("q", "k", "v", "o"), linears, strict=True))
                    norm = f"{here}_Wo_ln"
                for name, layer in layers.items():
                    yield Entry(layer.kernel, f"{here}_W{name}")
                    yield Entry(layer.bias, f"{here}_b{name}", lead=1)
                yield from _norm(part.residual.layer_norm, norm, suffix)
        if stack.final_norm is not None:
            yield from _norm(stack.final_norm, f"{side}_top_ln")


def _norm(layer: Any, name: str, suffix: str = "") -> Iterator[Entry]:
    yield Entry(layer.gamma, f"{name}_scale{suffix}", lead=1)
    yield Entry(layer.beta, f"{name}_bias{suffix}", lead=1)
