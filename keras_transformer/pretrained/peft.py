"""Low-rank adapters of Hugging Face's `peft`, written as the files of our own."""

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from keras_transformer.models.lora.adaptation import adapt_low_rank, adapted_layers, linear_layers
from keras_transformer.models.lora.weights_file import save_lora_file
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.pretrained.tensor_files import Tensors, open_safetensors
from keras_transformer.pretrained.values import FileValues, read_json
from keras_transformer.pretrained.weight_table import Array, Entry

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_PREFIX = "base_model.model."
# Fields that change what an adapter computes, with the values that leave it plain.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none", None),
    "use_dora": (False, None),
    "modules_to_save": (None, []),
    "rank_pattern": (None, {}),
    "alpha_pattern": (None, {}),
    "layer_replication": (None,),
    # Others, such as "pissa", are made for weights that they have changed.
    "init_lora_weights": (True, False, None, "gaussian", "orthogonal", "eva"),
    # Only behind some tokens, of blocks of inputs, with a factor between, or with others beside it.
    "alora_invocation_tokens": (None,),
    "use_qalora": (False, None),
    "use_bdlora": (False, None),
    "kasa_config": (None,),
    "monteclora_config": (None,),
    "arrow_config": (None,),
}


def import_adapter(
    directory: str | os.PathLike[str], base: str | os.PathLike[str], output: Path
) -> Path:
    """Writes an adapter as a file that `load_lora_weights` and servers read.

    Args:
        directory: What `peft` saved: `adapter_config.json` and `adapter_model.safetensors`.
        base: The directory of Hugging Face's model that it belongs to.
        output: The file to write, whose name ends in ".lora.npz".

    Raises:
        FileNotFoundError: A file or a directory is missing.
        ImportRefusedError: The adapter is of another kind, or does not fit the model.
        ValueError: The output has another name.
    """
    folder, imported = Path(directory), read_pretrained(base)
    values = FileValues(folder / CONFIG, read_json(folder / CONFIG))
    for name, plain in _PLAIN.items():
        if (found := values.get(name, None)) not in plain:
            raise ImportRefusedError(
                f"{values.origin} has {name}={found!r}, and plain LoRA alone is read."
            )
    rank, alpha = values.integer("r", least=1), values.number("lora_alpha")
    if values.flag("use_rslora", False):
        alpha *= math.sqrt(rank)
    tensors = Tensors(open_safetensors(folder / WEIGHTS), str(folder / WEIGHTS))
    model = imported.build()
    factors = _factors(model, imported.table(model), tensors)
    adapt_low_rank(model, rank, alpha=alpha, targets=list(factors))
    for layer in adapted_layers(model):
        down, up = factors[layer.path]
        layer.lora_kernel_a.assign(down)
        layer.lora_kernel_b.assign(up)
    save_lora_file(model, output)
    if named := values.get("base_model_name_or_path", None):
        print(f"{values.origin} names the model that it belongs to: {named}")
    return output


def _factors(
    model: Any, table: Iterable[Entry], tensors: Tensors
) -> dict[str, tuple[Array, Array]]:
    """Returns the factors of each adapted layer by its path.

    Raises:
        ImportRefusedError: One belongs to none of the linear layers of blocks.
    """
    layers = {layer.kernel.path: layer for layer in linear_layers(model)}
    found: dict[str, tuple[Array, Array]] = {}
    read: set[str] = set()
    for entry in table:
        layer = layers.get(entry.weight.path)
        name = _PREFIX + entry.name.removesuffix(".weight")
        down, up = (f"{name}.lora_{kind}.weight" for kind in "AB")
        if layer is None or down not in tensors or up not in tensors:
            continue
        # What changes the order and the size of outputs does so to the second factor's. GPT-2's
        # layers, whose kernels are not transposed, have factors as the others.
        second = tensors[up] if entry.transposed else tensors[up].T
        found[layer.path] = tensors[down].T, entry.read(second)
        read |= {down, up}
    if rest := sorted(set(tensors) - read):
        raise ImportRefusedError(
            f"{tensors.origin} has {rest[0]}, which is of no linear layer that can be adapted."
        )
    return found
