"""The way in which Sentence Transformers makes one vector of a text (Reimers and Gurevych 2019), as
fields of our config and the weights of its linear layers.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformer.config.text_vectors import JOINT, DenseConfig, Pooling, check_prompts
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.languages import CONFIG, read_values
from keras_transformer.pretrained.tensor_files import Tensors, open_huggingface
from keras_transformer.pretrained.values import FileValues, read_json
from keras_transformer.pretrained.weight_table import Entry, linear

MODULES = "modules.json"
# Theirs → ours; configs name the first of each pair after "pooling_mode_".
MODES: dict[str, Pooling] = {
    "cls_token": "first",
    "max_tokens": "max",
    "mean_tokens": "mean",
    "mean_sqrt_len_tokens": "mean_sqrt_length",
    "weightedmean_tokens": "weighted_mean",
    "lasttoken": "last",
}
# As "pooling_mode" names them.
SHORT_MODES: dict[str, Pooling] = {
    "cls": "first",
    "max": "max",
    "mean": "mean",
    "weightedmean": "weighted_mean",
    **MODES,
}
# PyTorch's class → the activation of Keras that is the same function.
ACTIVATIONS = {
    "Identity": "linear",
    "Tanh": "tanh",
    "ReLU": "relu",
    "GELU": "gelu",
    "Sigmoid": "sigmoid",
    "SiLU": "silu",
    "Softplus": "softplus",
    "Softsign": "softsign",
    "ELU": "elu",
    "SELU": "selu",
    "Mish": "mish",
}
TRANSFORMER, POOLING, DENSE, NORMALIZE = "Transformer", "Pooling", "Dense", "Normalize"
# How that library reads texts, and what it may put before each of them.
READING = "sentence_bert_config.json"
PROMPTS = "config_sentence_transformers.json"
# What tokenizers without a limit exceed.
_NO_LIMIT = 10**20
# What modules read and write.
VECTOR = "sentence_embedding"
# Without effect but in training.
_DROPOUT = "Dropout"
_ORDER = "Transformer, Pooling, any number of Dense and at most one Normalize"


class Module(NamedTuple):
    """A module of a directory.

    Attributes:
        kind: The name of its class.
        path: Its directory.
    """

    kind: str
    path: Path


class Embedding(NamedTuple):
    """The pooling, layers and prompts with which a model makes vectors.

    Attributes:
        fields: Fields of `EncoderConfig`.
        tensors: The weights of its linear layers, by the names of `dense_table`.
    """

    fields: dict[str, Any]
    tensors: Tensors


def encoder_folder(path: Path) -> Path:
    """Returns where the encoder of a directory lies: in it, or in a folder that its modules name.

    Raises:
        ImportRefusedError: The list of modules is damaged.
    """
    if not (path / MODULES).is_file():
        return path
    return next((one.path for one in _modules(path / MODULES) if one.kind == TRANSFORMER), path)


def read_embedding(path: Path, folder: Path, most: int | None) -> Embedding | None:
    """Returns how one vector is made of a text; None if nothing says so.

    Args:
        path: The directory.
        folder: Where its encoder lies.
        most: Most tokens of a text that the model itself reads; None for any number.

    Raises:
        ImportRefusedError: A file is missing or damaged, or vectors are made in another way.
    """
    if not (path / MODULES).is_file():
        return None
    pooling, layers, is_unit = _in_order(path / MODULES)
    prompts = _prompts(path)
    tensors = Tensors({}, str(path / MODULES))
    dense = []
    for number, layer in enumerate(layers):
        dense.append(_dense(layer / "config.json"))
        own = open_huggingface(layer)
        tensors = tensors.joined(own.renamed(partial(_dense_name, number)))
    return Embedding(
        {
            "head": "embedding",
            "pooling": _pooling(pooling / "config.json", has_prompts=any(prompts.values())),
            "dense": tuple(dense),
            "unit_vectors": is_unit,
            "prompts": prompts,
            "default_prompt": read_values(path / PROMPTS).text("default_prompt_name", None),
            **row_limit(folder, most),
        },
        tensors,
    )


def dense_table(model: Any) -> Iterator[Entry]:
    """Yields the entries of the linear layers behind a model's pooling."""
    for number, layer in enumerate(model.head.layers if model.config.dense else ()):
        yield from linear(layer, _dense_name(number, "linear"))


def _dense_name(number: int, name: str) -> str:
    """Returns what a tensor of a linear layer is called beside those of the other modules."""
    return f"{DENSE}.{number}.{name}"


def _modules(file: Path) -> list[Module]:
    listed = read_json(file)
    if not isinstance(listed, list):
        raise ImportRefusedError(f"{file} holds no list of modules.")
    described = [FileValues(f"{file}: a module", one) for one in listed]
    return [
        Module(one.text("type").rpartition(".")[2], file.parent / one.text("path", ""))
        for one in described
    ]


def _in_order(file: Path) -> tuple[Path, list[Path], bool]:
    """Returns the pooling's directory, those of linear layers, and whether vectors have length 1.

    Raises:
        ImportRefusedError: The file lists other modules, or in another order.
    """
    modules = _modules(file)
    kinds = [module.kind for module in modules if module.kind != _DROPOUT]
    is_unit = kinds[-1:] == [NORMALIZE]
    layers = [module.path for module in modules if module.kind == DENSE]
    wanted = [TRANSFORMER, POOLING, *[DENSE] * len(layers), *[NORMALIZE] * is_unit]
    if kinds != wanted:
        raise ImportRefusedError(
            f"{file} has the modules {', '.join(kinds) or 'none'}, and {_ORDER} are supported, in "
            "this order: without this file the encoder alone is imported."
        )
    return next(module.path for module in modules if module.kind == POOLING), layers, is_unit


def _pooling(file: Path, *, has_prompts: bool) -> str:
    values = FileValues(file, read_json(file)).values
    found = [mode for mode in MODES if values.get(f"pooling_mode_{mode}") is True]
    told = values.get("pooling_mode", found)
    modes = told if isinstance(told, list) else [told]
    poolings = [SHORT_MODES.get(mode) if isinstance(mode, str) else None for mode in modes]
    if not poolings or None in poolings or len(set(poolings)) < len(poolings):
        raise ImportRefusedError(
            f"{file} has the pooling modes {modes}, and of {', '.join(MODES)} one or several "
            "different ones are supported."
        )
    if has_prompts and values.get("include_prompt") is False:
        raise ImportRefusedError(
            f"{file} has include_prompt: false, which is not supported with prompts: their tokens "
            "are pooled as all others."
        )
    return JOINT.join(name for name in poolings if name is not None)


def _dense(file: Path) -> DenseConfig:
    values = FileValues(file, read_json(file))
    for name in ("module_input_name", "module_output_name"):
        if values.get(name, VECTOR) != VECTOR:
            raise ImportRefusedError(
                f"{file} has {name}: {values[name]!r}, and {VECTOR!r} is supported."
            )
    if values.flag("use_residual", False):
        raise ImportRefusedError(f"{file} has use_residual: true, which is not supported.")
    activation = (values.text("activation_function", "") or "Tanh").rpartition(".")[2]
    if activation not in ACTIVATIONS:
        raise ImportRefusedError(
            f"{file} has the activation_function {activation}, and {', '.join(ACTIVATIONS)} are "
            "supported."
        )
    return DenseConfig(
        out_dim=values.integer("out_features", least=1),
        activation=ACTIVATIONS[activation],
        use_bias=values.flag("bias", True),
    )


def _prompts(path: Path) -> dict[str, str]:
    """Returns the texts that may be put before others, by name.

    Raises:
        ImportRefusedError: They are no texts, or the one that is always put there is none of them.
    """
    file = path / PROMPTS
    values = read_values(file)
    given = values.mapping("prompts", None)
    prompts = {} if given is None else dict(given.values)
    chosen = values.text("default_prompt_name", None)
    try:
        check_prompts(prompts, chosen)
    except (TypeError, ValueError) as error:
        raise ImportRefusedError(f"{file}: {error}") from error
    return prompts


def row_limit(path: Path, most: int | None) -> dict[str, int]:
    """Returns where that library cuts texts, in tokens, special ones included, as our config says
    it; nothing if that is nowhere, or no sooner than the model's own limit, `most`.

    Raises:
        ImportRefusedError: The file is damaged, or texts are changed before they are tokenized.
    """
    file = path / READING
    values = read_values(file)
    if values.get("do_lower_case", None):
        raise ImportRefusedError(
            f"{file} has do_lower_case: true, which is not supported: set it to false and give "
            "texts in lower case, unless the tokenizer makes them so."
        )
    config = read_values(path / CONFIG)
    told = values.integer("max_seq_length", None) or config.number("model_max_length", None)
    if told is None or told >= (most or _NO_LIMIT):
        return {}
    return {"max_row_length": int(told)}
