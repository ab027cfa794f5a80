"""OpenNMT-tf's directories (Klein et al. 2017): a TensorFlow checkpoint, vocabularies as lists of
tokens, the description of the model, and the SentencePiece models that its users keep beside it.

The description is Python: it is read, never run. A source has no eos there; whatever text the
vocabulary lacks has the id behind its last token.
"""

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from keras_transformer.config import TransformerConfig
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.imported import Imported
from keras_transformer.pretrained.sentencepiece_models import model_beside, read_model, tokenizer_of
from keras_transformer.pretrained.tensor_files import Tensors, open_tensorflow
from keras_transformer.pretrained.values import FileValues, read_text, read_yaml
from keras_transformer.pretrained.weight_table import NEVER, Entry
from keras_transformer.text.tokenizer import Tokenizer

DESCRIPTION = "model_description.py"
EPSILON = 1e-3  # That of Keras's LayerNormalization.

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_SOURCE = f"model/examples_inputter/features_inputter/embedding{_VALUE}"
_TARGET = f"model/examples_inputter/labels_inputter/embedding{_VALUE}"
_KERNEL = f"model/decoder/output_layer/kernel{_VALUE}"
_UNREAD = ("_CHECKPOINTABLE_OBJECT_GRAPH", "optimizer/", "save_counter/")
_SLOT = ".OPTIMIZER_SLOT"
# The heads of the catalog's models that can be read.
_HEADS = {
    "Transformer": 8,
    "TransformerBase": 8,
    "TransformerBaseSharedEmbeddings": 8,
    "TransformerBig": 16,
    "TransformerBigSharedEmbeddings": 16,
    "TransformerTiny": 2,
    "ScalingNmtEnDe": 16,
    "ScalingNmtEnFr": 16,
}
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu_tanh", "swish": "silu", "silu": "silu"}


def is_opennmt(directory: Path) -> bool:
    """Whether a directory holds a TensorFlow checkpoint."""
    return any(directory.glob("*.index"))


def read_opennmt(directory: Path) -> Imported:
    """Reads a directory.

    Raises:
        ImportRefusedError: A file is missing or damaged, or the model is of a kind that is not
            supported.
    """
    tensors = open_tensorflow(_newest(directory))
    if _SOURCE not in tensors:
        raise ImportRefusedError(
            f"{tensors.origin} is no checkpoint of one of OpenNMT-tf 2's translators: it lacks "
            f"{_SOURCE}."
        )
    source, target = (_tokens(file) for file in _vocabularies(directory))
    _check_sizes(tensors, source, target)
    tokenizers = _tokenizers(directory, source, target)
    config = _config(tensors, _described(directory / DESCRIPTION), tokenizers[1])
    return Imported(
        "opennmt-tf",
        config,
        lambda model: list(opennmt_table(model, tensors, len(source), len(target))),
        tensors,
        tokenizers,
        unread=(*_UNREAD, *(name for name in tensors if _SLOT in name)),
    )


def _check_sizes(tensors: Tensors, source: list[str], target: list[str]) -> None:
    for name, tokens in ((_SOURCE, source), (_TARGET, target)):
        if name in tensors and len(tensors[name]) != len(tokens) + 1:
            raise ImportRefusedError(
                f"{tensors.origin}: {name} has {len(tensors[name])} rows, but the vocabulary has "
                f"{len(tokens)} tokens beside the unknown one: they are of different models."
            )


def _newest(directory: Path) -> Path:
    """Returns the beginning of the newest checkpoint's files."""
    found = [path.with_suffix("") for path in sorted(directory.glob("*.index"))]
    state = directory / "checkpoint"
    if state.is_file():
        named = re.search(r'^model_checkpoint_path: "(.*)"', read_text(state))
        if named and directory / Path(named[1]).name in found:
            return directory / Path(named[1]).name
    if len(found) != 1:
        names = ", ".join(path.name for path in found)
        raise ImportRefusedError(f"{directory} holds several checkpoints ({names}): leave one.")
    return found[0]


def _tokenizers(
    directory: Path, source: list[str], target: list[str]
) -> tuple[Tokenizer, Tokenizer]:
    """Returns tokenizers in which the unknown token, the last on each side, has one id for both."""
    unknown = max(len(source), len(target))
    made = [
        tokenizer_of(
            read_model(model_beside(directory, side)),
            pad="<blank>",
            bos="<s>",
            ids={**{token: place for place, token in enumerate(tokens)}, "<unk>": unknown},
            vocab_size=unknown + 1,
        )
        for side, tokens in (("source", source), ("target", target))
    ]
    return (made[0],) * 2 if made[0].model == made[1].model else (made[0], made[1])


def _vocabularies(directory: Path) -> list[Path]:
    """Returns the files of source and target, which the settings of the training name."""
    names = ["source_vocabulary", "target_vocabulary"]
    found = [f"{name}.txt" for name in names]
    for path in sorted(directory.glob("*.yml")):
        values = FileValues(path, read_yaml(path, read_text(path)) or {})
        data = values.mapping("data", FileValues(path, {}))
        if all(name in data.values for name in names):
            found = [Path(data.text(name)).name for name in names]
    files = [directory / name for name in found]
    for file in files:
        if not file.is_file():
            raise ImportRefusedError(
                f"{file} is missing: put the vocabularies there, and name them as data: "
                "source_vocabulary and target_vocabulary in a .yml file, or so themselves (.txt)."
            )
    return files


def _tokens(vocabulary: Path) -> list[str]:
    """Returns the tokens of a vocabulary, in the order of their ids."""
    tokens = read_text(vocabulary).removesuffix("\n").split("\n")
    if tokens[:3] != ["<blank>", "<s>", "</s>"] or len(set(tokens)) < len(tokens):
        raise ImportRefusedError(
            f"{vocabulary} must list different tokens, beginning with <blank>, <s> and </s>."
        )
    return tokens


def _described(path: Path) -> dict[str, Any]:
    """Returns what a description says that the weights do not: heads and activation."""
    try:
        tree = ast.parse(read_text(path))
    except ImportRefusedError as error:
        raise ImportRefusedError(
            f"{error} It must say how many heads the model has, as OpenNMT-tf writes it."
        ) from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ImportRefusedError(f"{path} cannot be read: {error}") from error
    found: dict[str, Any] = {}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in calls:
        names = [_last_name(call.func), *(getattr(one, "value", None) for one in call.args)]
        known = [name for name in names if isinstance(name, str) and name in _HEADS]
        if known:
            found["num_heads"] = _HEADS[known[0]]
    for call in calls:
        for keyword in call.keywords:
            if keyword.arg == "num_heads":
                found["num_heads"] = getattr(keyword.value, "value", None)
            if keyword.arg == "ffn_activation":
                found["activation"] = _ACTIVATIONS.get(_last_name(keyword.value))
    if not isinstance(found.get("num_heads"), int) or found.get("activation", "") is None:
        raise ImportRefusedError(
            f"{path} must name a Transformer of the catalog ({', '.join(_HEADS)}), or give "
            f"num_heads and, of {', '.join(_ACTIVATIONS)}, ffn_activation."
        )
    return found


def _last_name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _config(tensors: Tensors, described: dict[str, Any], target: Tokenizer) -> TransformerConfig:
    layers = [
        len({name.split("/")[3] for name in tensors if name.startswith(f"model/{side}/layers/")})
        for side in ("encoder", "decoder")
    ]
    sharing = "none"
    if _KERNEL not in tensors:
        sharing = "target" if _TARGET in tensors else "all"
    inner = f"model/encoder/layers/0/ffn/layer/inner/kernel{_VALUE}"
    return TransformerConfig(
        source_vocab_size=target.vocab_size,
        share_embeddings=sharing,  # type: ignore[arg-type]
        logit_bias=True,
        model_dim=tensors[_SOURCE].shape[1],
        feed_forward_dim=tensors[inner].shape[1],
        num_encoder_layers=layers[0],
        num_decoder_layers=layers[1],
        norm="pre" if any("input_layer_norm" in name for name in tensors) else "post",
        layer_norm_epsilon=EPSILON,
        sinusoid_layout="tensor2tensor",
        position_offset=1,
        special_ids=target.special_ids,
        marks=SentenceMarks(source_eos=False),
        **described,
    )


def opennmt_table(
    model: Any, tensors: Collection[str], source_tokens: int, target_tokens: int
) -> Iterator[Entry]:
    """Yields the entries of a model; kernels are `(in, out)`, as ours are.

    Args:
        model: Ours.
        tensors: The names that the file has.
        source_tokens: How many tokens come before the unknown one; ids that only the other side
            has stand between them, and are never written.
        target_tokens: The same count of the target side.
    """
    source, target = model.source_embeddings.tokens, model.target_embeddings.tokens
    yield Entry(source.matrix, _SOURCE, fill=0.0, fill_behind=source_tokens)
    own: dict[str, Any] = {"fill": 0.0, "fill_behind": target_tokens}
    if source is not target:
        yield Entry(target.matrix, _TARGET if _TARGET in tensors else _SOURCE, **own)
    if model.head.linear is not None:
        yield Entry(model.head.linear.kernel, _KERNEL, id_axis=1, **own)
    bias = f"model/decoder/output_layer/bias{_VALUE}"
    yield Entry(model.head.bias, bias, absent=0.0, **{**own, "fill": NEVER})
    for side, stack in (("encoder", model.encoder_stack), ("decoder", model.decoder_stack)):
        wrapped = "input_layer_norm" if stack.final_norm is not None else "output_layer_norm"
        for number, block in enumerate(stack.blocks):
            for part in block.sub_layers:
                kind = {"own": "self_attention", "source": "attention/0", None: "ffn"}
                here = f"model/{side}/layers/{number}/{kind[part.attends_to]}"
                yield from _norm(part.residual.layer_norm, f"{here}/{wrapped}")
                yield from _linears(part, f"{here}/layer")
        if stack.final_norm is not None:
            yield from _norm(stack.final_norm, f"model/{side}/layer_norm")


def _linears(part: Any, here: str) -> Iterator[Entry]:
    names: tuple[str, ...] = ("inner", "outer")
    if part.attends_to is not None:
        names = tuple(f"linear_{name}" for name in ("queries", "keys", "values", "output"))
    for name, layer in zip(names, part.layer.linear_layers, strict=True):
        yield Entry(layer.kernel, f"{here}/{name}/kernel{_VALUE}")
        yield Entry(layer.bias, f"{here}/{name}/bias{_VALUE}")


def _norm(layer: Any, name: str) -> Iterator[Entry]:
    yield Entry(layer.gamma, f"{name}/gamma{_VALUE}")
    yield Entry(layer.beta, f"{name}/beta{_VALUE}")
