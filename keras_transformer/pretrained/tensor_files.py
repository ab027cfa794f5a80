"""Files of weights, whose tensors are read by name when they are asked for.

Of safetensors, NumPy's `.npz`, `pytorch_model.bin` and TensorFlow's checkpoints none needs PyTorch,
and nothing of a file is run.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.distribution import install_command
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.formats.pytorch_file import DAMAGE, open_pytorch
from keras_transformer.pretrained.pointers import refuse_pointer
from keras_transformer.pretrained.values import FileValues, read_json
from keras_transformer.whole_files import numpy_archive

Array = npt.NDArray[Any]

SAFETENSORS = "model.safetensors"
PYTORCH = "pytorch_model.bin"
# What the first port of BERT to PyTorch called the parts of a norm; published files still do.
_OF_THEN = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
_SUPPORTED = "safetensors, pytorch_model.bin, .npz and TensorFlow checkpoints are supported"


class Tensors(Mapping[str, Array]):
    """The tensors of a file, or of several that belong together.

    Args:
        readers: For each name, what reads the tensor.
        origin: The file's name, for messages.
    """

    def __init__(self, readers: Mapping[str, Callable[[], Array]], origin: str) -> None:
        self._readers = readers
        self.origin = origin

    def __getitem__(self, name: str) -> Array:
        return self._readers[name]()

    def __contains__(self, name: object) -> bool:
        return name in self._readers

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)

    def joined(self, others: "Tensors") -> "Tensors":
        """Returns these tensors and others, which have other names."""
        return Tensors({**self._readers, **others._readers}, self.origin)

    def renamed(self, rename: Callable[[str], str]) -> "Tensors":
        """Returns the same tensors under the names that a function makes of theirs."""
        return Tensors({rename(name): one for name, one in self._readers.items()}, self.origin)


def open_huggingface(directory: Path) -> Tensors:
    """Opens the weights of a directory that Hugging Face's `save_pretrained` wrote.

    Raises:
        ImportRefusedError: There are none, or a file is damaged.
    """
    for name, opened in ((SAFETENSORS, open_safetensors), (PYTORCH, open_pytorch)):
        if (directory / name).is_file():
            refuse_pointer(directory / name)
            return Tensors(opened(directory / name), str(directory / name)).renamed(_of_today)
        index = directory / f"{name}.index.json"
        if index.is_file():
            return Tensors(_open_shards(index, opened), str(index)).renamed(_of_today)
    raise ImportRefusedError(
        f"{directory} has no weights: {SAFETENSORS} or {PYTORCH} was expected ({_SUPPORTED})."
    )


def _of_today(name: str) -> str:
    for old, new in _OF_THEN.items():
        name = name.replace(old, new)
    return name


def open_npz(path: Path) -> Tensors:
    """Opens NumPy's archive of arrays; objects in it are refused, since they may be code."""
    refuse_pointer(path)
    try:
        file = numpy_archive(path)
        names = list(file.files)
    except DAMAGE as error:
        raise ImportRefusedError(f"{path} is no whole .npz file: {error}.") from error

    def reader(name: str) -> Callable[[], Array]:
        def read() -> Array:
            try:
                return file[name]
            except DAMAGE as error:
                raise ImportRefusedError(f"{path}: {name} cannot be read: {error}") from error

        return read

    return Tensors({name: reader(name) for name in names}, str(path))


def open_tensorflow(prefix: Path) -> Tensors:
    """Opens a TensorFlow checkpoint, by its files' common beginning."""
    import tensorflow as tf

    try:
        checkpoint = tf.train.load_checkpoint(str(prefix))
    except (tf.errors.OpError, ValueError) as error:
        raise ImportRefusedError(f"{prefix} is no TensorFlow checkpoint: {error}") from error

    def reader(name: str) -> Callable[[], Array]:
        def read() -> Array:
            try:
                return np.asarray(checkpoint.get_tensor(name))
            except (tf.errors.OpError, ValueError, IndexError, RuntimeError) as error:
                raise ImportRefusedError(f"{prefix}: {name} cannot be read: {error}") from error

        return read

    names = checkpoint.get_variable_to_shape_map()
    return Tensors({name: reader(name) for name in names}, str(prefix))


def open_safetensors(path: Path) -> dict[str, Callable[[], Array]]:
    """Opens a safetensors file: for each tensor what reads it.

    Raises:
        ImportError: The package `safetensors` is missing.
        ImportRefusedError: The file is missing or damaged.
    """
    try:
        import ml_dtypes  # noqa: F401 - NumPy then knows bfloat16.
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise ImportError(
            f"{path} needs the safetensors package: {install_command('import')}"
        ) from error
    try:
        file = safe_open(str(path), framework="numpy")
    except (SafetensorError, OSError) as error:
        raise ImportRefusedError(f"{path} is no whole safetensors file: {error}") from error
    return {name: partial(file.get_tensor, name) for name in file.keys()}  # noqa: SIM118


def _open_shards(
    index: Path, opened: Callable[[Path], dict[str, Callable[[], Array]]]
) -> dict[str, Callable[[], Array]]:
    listed = FileValues(index, read_json(index)).mapping("weight_map")
    places = {name: listed.text(name) for name in listed.values}
    files = {name: index.parent / Path(name).name for name in set(places.values())}
    for path in files.values():
        if not path.is_file():
            raise ImportRefusedError(f"{index} names {path.name}, which is missing beside it.")
    for path in files.values():
        refuse_pointer(path)
    readers = {name: opened(path) for name, path in files.items()}
    try:
        return {name: readers[file][name] for name, file in places.items()}
    except KeyError as error:
        raise ImportRefusedError(f"{index} names the tensor {error}, which no file has.") from error
