"""Directories that CTranslate2's converters wrote: a translator's weights in float32 and its
vocabularies, with the SentencePiece models that its users keep beside it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config import SpecialIds, TransformerConfig
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.layers.positions import SinusoidalPositions
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.formats.ctranslate2_file import MODEL, open_ctranslate2
from keras_transformer.pretrained.formats.ctranslate2_marks import BLANK, read_marks
from keras_transformer.pretrained.imported import Imported
from keras_transformer.pretrained.sentencepiece_models import model_beside, read_model, tokenizer_of
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.values import FileValues, read_json, read_text
from keras_transformer.pretrained.weight_table import NEVER, Entry
from keras_transformer.text.tokenizer import Tokenizer

CONFIG = "config.json"
# In the order of their numbers in the file.
_ACTIVATIONS = ("relu", "gelu", "silu", "gelu_tanh", None, "tanh", "sigmoid")
_NOT_SUPPORTED = ("relative_", "rotary_", "linear_0_noact", "alibi_slopes", "q_norm")
# Tables that are computed, and matrices under further names.
_UNREAD = (
    "position_encodings/encodings",
    "encoder/embeddings_0/weight",
    "decoder/projection/weight",
    "decoder/alignment_heads",
)
_LAYOUTS = ("interleaved", "halves", "tensor2tensor")
_OFFSETS = (0, 1, 2)


def is_ctranslate2(directory: Path) -> bool:
    """Whether a directory holds a model of CTranslate2."""
    return (directory / MODEL).is_file()


def read_ctranslate2(directory: Path) -> Imported:
    """Reads a directory.

    Raises:
        ImportRefusedError: A file is missing or damaged, or the model is of a kind that is not
            supported.
    """
    name, tensors = open_ctranslate2(directory / MODEL)
    strange = [key for key in tensors if any(part in key for part in _NOT_SUPPORTED)]
    if name != "TransformerSpec" or strange:
        found = strange[0] if strange else name
        raise ImportRefusedError(
            f"{tensors.origin} has {found}: of CTranslate2's models, translators with positions in "
            "their embeddings are supported."
        )
    settings = FileValues(directory / CONFIG, read_json(directory / CONFIG))
    pieces = [_pieces(path) for path in _vocabularies(directory)]
    size = max(len(one) for one in pieces)
    pads = [name for name in ("<pad>", BLANK) if all(name in one for one in pieces)]
    # Without one in both, the id behind the last piece becomes the padding.
    pad, total = (pads[0], size) if pads else ("<pad>", size + 1)
    source, target = (
        _tokenizer(directory, side, one, settings, pad, total)
        for side, one in zip(("source", "target"), pieces, strict=True)
    )
    if source.model == target.model:
        target = source
    marks = read_marks(
        directory / CONFIG, settings.values, pieces[0], is_marian=_starts_from_zero(tensors)
    )
    config = _config(tensors, settings, total, target, pieces[-1], marks)
    return Imported(
        "ctranslate2",
        config,
        lambda model: list(_table(model, tensors)),
        tensors,
        (source, target),
        unread=(*_UNREAD, *(key for key in tensors if tensors[key].ndim < 1)),
    )


def _vocabularies(directory: Path) -> list[Path]:
    """Returns the vocabularies' files: one, or those of source and target."""
    # Older ones hold a piece a line.
    is_old = any(directory.glob("*_vocabulary.txt"))
    suffix = ".txt" if is_old else ".json"
    shared = directory / f"shared_vocabulary{suffix}"
    if shared.is_file():
        return [shared, shared]
    return [directory / f"{side}_vocabulary{suffix}" for side in ("source", "target")]


def _pieces(path: Path) -> list[str]:
    if path.suffix != ".json":
        return read_text(path).removesuffix("\n").split("\n")
    pieces = read_json(path)
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise ImportRefusedError(f"{path} must be a list of pieces.")
    return pieces


def _tokenizer(
    directory: Path, side: str, pieces: list[str], settings: FileValues, pad: str, total: int
) -> Tokenizer:
    file = model_beside(directory, side)
    ids = {piece: place for place, piece in enumerate(pieces)}
    if len(ids) < len(pieces):
        raise ImportRefusedError(f"{directory}: a piece of the {side}'s vocabulary occurs twice.")
    eos, unk = settings.text("eos_token", "") or "</s>", settings.text("unk_token", "") or "<unk>"
    return tokenizer_of(read_model(file), eos=eos, unk=unk, pad=pad, ids=ids, vocab_size=total)


def _config(
    tensors: Tensors,
    settings: FileValues,
    total: int,
    target: Tokenizer,
    pieces: list[str],
    marks: SentenceMarks,
) -> TransformerConfig:
    def number(key: str, default: int = 0) -> int:
        return int(tensors[key]) if key in tensors else default

    width = int(tensors["decoder/embeddings/weight"].shape[1])
    special, start = target.special_ids, settings.text("decoder_start_token", None)
    if _starts_from_zero(tensors):
        decoder_start = special.pad
    elif start in pieces:
        decoder_start = pieces.index(start)
    else:
        raise ImportRefusedError(
            f"{tensors.origin} is a model with decoder_start_token: {start!r}: {CONFIG} must name "
            "a piece of the target's vocabulary that its decoder starts with."
        )
    activation = _ACTIVATIONS[number("decoder/activation")]
    if activation is None:
        raise ImportRefusedError(f"{tensors.origin} has an activation that is not supported.")
    matrix = tensors["decoder/embeddings/weight"]
    is_tied = np.array_equal(tensors["decoder/projection/weight"], matrix)
    is_shared = np.array_equal(tensors["encoder/embeddings_0/weight"], matrix)
    return TransformerConfig(
        source_vocab_size=total,
        share_embeddings=("all" if is_shared else "target") if is_tied else "none",
        logit_bias=True,
        model_dim=width,
        feed_forward_dim=tensors["decoder/layer_0/ffn/linear_0/weight"].shape[0],
        num_heads=number("decoder/num_heads"),
        num_encoder_layers=_count(tensors, "encoder"),
        num_decoder_layers=_count(tensors, "decoder"),
        activation=activation,
        norm="pre" if number("decoder/pre_norm") else "post",
        layer_norm_epsilon=settings.number("layer_norm_epsilon", 0.0) or 1e-5,
        embedding_norm="encoder/layernorm_embedding/gamma" in tensors,
        scale_embeddings=_scales_embeddings(tensors, width),
        special_ids=SpecialIds(
            pad=special.pad, unk=special.unk, bos=None, eos=special.eos, decoder_start=decoder_start
        ),
        marks=marks,
        **_positions(tensors, width),
    )


def _starts_from_zero(tensors: Tensors) -> bool:
    name = "decoder/start_from_zero_embedding"
    return name in tensors and bool(tensors[name])


def _scales_embeddings(tensors: Tensors, width: int) -> bool:
    """Whether embeddings are multiplied by √d: a flag, or in converted models the factor itself."""
    name = "decoder/scale_embeddings"
    value = np.asarray(tensors[name]) if name in tensors else np.int8(1)
    if np.issubdtype(value.dtype, np.integer):
        return bool(value)
    factor = float(value)
    if not np.isclose(factor, 1.0) and not np.isclose(factor, width**0.5):
        raise ImportRefusedError(
            f"{tensors.origin} multiplies embeddings by {factor}: only 1 and the square root of "
            f"their width, {width**0.5}, are supported."
        )
    return not np.isclose(factor, 1.0)


def _count(tensors: Tensors, side: str) -> int:
    return len({key.split("/")[1] for key in tensors if re.match(rf"{side}/layer_\d", key)})


def _positions(tensors: Tensors, width: int) -> dict[str, Any]:
    """Returns the fields of a table of positions: sinusoids if a formula gives it, else learned."""
    table = np.asarray(tensors["decoder/position_encodings/encodings"], np.float32)
    for layout in _LAYOUTS:
        if layout != "interleaved" and (width % 2 or width < 4):
            continue
        for offset in _OFFSETS:
            layer = SinusoidalPositions(width, offset, layout)
            vectors = np.asarray(layer.vectors(np.arange(len(table), dtype=np.int32)))
            if np.abs(vectors - table).max() < 1e-3:
                return {"sinusoid_layout": layout, "position_offset": offset}
    return {"positions": "learned", "max_positions": len(table)}


def _table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of a model; linear layers that read the same input are packed."""
    source, target = model.source_embeddings, model.target_embeddings
    yield Entry(target.tokens.matrix, "decoder/embeddings/weight", fill=0.0)
    if source.tokens is not target.tokens:
        yield Entry(source.tokens.matrix, "encoder/embeddings_0/weight", fill=0.0)
    if model.head.linear is not None:
        kernel = model.head.linear.kernel
        name = "decoder/projection/weight"
        yield Entry(kernel, name, transposed=True, fill=0.0, id_axis=1)
    absent = _biases(model, tensors)
    yield Entry(model.head.bias, "decoder/projection/bias", fill=NEVER, absent=absent)
    for side, embeddings, stack in (
        ("encoder", source, model.encoder_stack),
        ("decoder", target, model.decoder_stack),
    ):
        if embeddings.max_positions is not None:
            yield Entry(embeddings.positions.matrix, f"{side}/position_encodings/encodings")
        if embeddings.layer_norm is not None:
            yield from _norm(embeddings.layer_norm, f"{side}/layernorm_embedding")
        for number, block in enumerate(stack.blocks):
            for part in block.sub_layers:
                yield from _sub_layer(part, f"{side}/layer_{number}")
        if stack.final_norm is not None:
            yield from _norm(stack.final_norm, f"{side}/layer_norm")


def _biases(model: Any, tensors: Tensors) -> Any:
    known = len(tensors["decoder/embeddings/weight"])
    return np.where(np.arange(model.head.vocab_size) < known, 0.0, NEVER)


def _sub_layer(part: Any, here: str) -> Iterator[Entry]:
    kind = {"own": "self_attention", "source": "attention", None: "ffn"}[part.attends_to]
    layers = part.layer.linear_layers
    groups = {
        "own": (layers[:3], layers[3:]),
        "source": (layers[:1], layers[1:3], layers[3:]),
        None: (layers[:1], layers[1:]),
    }[part.attends_to]
    for number, group in enumerate(groups):
        for place, layer in enumerate(group):
            name = f"{here}/{kind}/linear_{number}"
            parts = len(group)
            yield Entry(layer.kernel, f"{name}/weight", transposed=True, part=place, parts=parts)
            yield Entry(layer.bias, f"{name}/bias", part=place, parts=parts)
    yield from _norm(part.residual.layer_norm, f"{here}/{kind}/layer_norm")


def _norm(layer: Any, name: str) -> Iterator[Entry]:
    yield Entry(layer.gamma, f"{name}/gamma")
    yield Entry(layer.beta, f"{name}/beta")
