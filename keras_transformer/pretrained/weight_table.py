"""Tables that map the tensors of a file to the weights of a model, for import and export."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.pretrained.errors import ImportRefusedError

Array = npt.NDArray[Any]

# As a logit's bias, enough that no softmax in any precision gives the id a share.
NEVER = -10_000.0


@dataclass(frozen=True)
class Entry:
    """One weight of a model, and the tensor of a file that holds it.

    Attributes:
        weight: The model's `keras.Variable`.
        name: The tensor's name; empty if files never have one.
        transposed: Whether the file has it as `(out, in)`, as PyTorch's linear layers are.
        part: Which of `parts` parts of the tensor's last axis (before transposing, of its first)
            the weight is.
        parts: How many weights of one size a tensor packs, or the sizes of all.
        factor: What the tensor is multiplied by to give the weight.
        fill: The value for ids that the model has beyond the file's; None if it has none.
        fill_behind: How many of the file's ids come before these; all of them if None.
        id_axis: The weight's axis of ids, where `fill` is given.
        lead: How many axes of length 1 the file's tensor begins with.
        absent: The weight's values if the file has no such tensor, or one for all; None if it must.
    """

    weight: Any
    name: str
    transposed: bool = False
    part: int = 0
    parts: int | tuple[int, ...] = 1
    factor: float = 1.0
    fill: float | None = None
    fill_behind: int | None = None
    id_axis: int = 0
    lead: int = 0
    absent: Array | float | None = None

    def read(self, tensor: Array) -> Array:
        """Returns the weight's values, float32; of another shape if the file's differs."""
        array = np.asarray(tensor, np.float32)
        if self.lead and array.shape[: self.lead] == (1,) * self.lead:
            array = array.reshape(array.shape[self.lead :])
        if self.transposed:
            array = np.swapaxes(array, 0, -1)
        parts = self.parts
        if isinstance(parts, int):
            parts = (array.shape[-1] // parts,) * parts
        if len(parts) > 1 and array.shape[-1] == sum(parts):
            array = np.split(array, np.cumsum(parts)[:-1], axis=-1)[self.part]
        if self.factor != 1.0:
            array = array * np.float32(self.factor)
        if self.fill is None or array.ndim != len(self.weight.shape):
            return array
        missing = max(0, self.weight.shape[self.id_axis] - array.shape[self.id_axis])
        if not missing:
            return array
        place = array.shape[self.id_axis] if self.fill_behind is None else self.fill_behind
        return np.insert(array, [place] * missing, np.float32(self.fill), axis=self.id_axis)

    def write(self, rows: int | None = None) -> Array:
        """Returns the weight as the file has it; of a packed tensor this part alone.

        Args:
            rows: How many ids the file has of a weight with further ones; all if None.
        """
        array = np.asarray(self.weight, np.float32)
        if self.fill is not None and rows is not None:
            array = np.take(array, range(rows), axis=self.id_axis)
        if self.factor != 1.0:
            array = array / np.float32(self.factor)
        if self.transposed:
            array = np.swapaxes(array, 0, -1)
        return array.reshape((1,) * self.lead + array.shape)


def linear(layer: Any, name: str, *, transposed: bool = True, **fields: Any) -> Iterator[Entry]:
    """Yields the entries of a `Dense` layer: `name`.weight and, if it has one, `name`.bias."""
    yield Entry(layer.kernel, f"{name}.weight", transposed=transposed, **fields)
    if layer.use_bias:
        yield Entry(layer.bias, f"{name}.bias", **fields)


def norm(layer: Any, name: str, factor: float = 1.0) -> Iterator[Entry]:
    """Yields the entries of a norm: γ is `name`.weight, and β, if it has one, `name`.bias."""
    yield Entry(layer.gamma, f"{name}.weight", factor=factor)
    if hasattr(layer, "beta"):
        yield Entry(layer.beta, f"{name}.bias", factor=factor)


def load_weights(
    model: Any,
    table: Iterable[Entry],
    tensors: Mapping[str, Array],
    *,
    origin: str,
    unread: Iterable[str] = (),
) -> None:
    """Sets a model's weights from a file's tensors.

    Args:
        model: A built model.
        table: An entry for each of its weights.
        tensors: The file's.
        origin: The file's name, for messages.
        unread: Beginnings and endings of names that mean nothing to the model.

    Raises:
        ImportRefusedError: A tensor is missing or has another shape, or the file has tensors that
            the table does not know.
    """
    entries = list(table)
    known = {id(entry.weight) for entry in entries}
    lacking = [weight.path for weight in model.weights if id(weight) not in known]
    if lacking:
        raise RuntimeError(f"the table has no entry for {', '.join(lacking)}.")
    names = {entry.name for entry in entries}
    ignored = tuple(unread)
    extra = [
        name
        for name in tensors
        if name not in names and not name.startswith(ignored) and not name.endswith(ignored)
    ]
    if extra:
        raise ImportRefusedError(
            f"{origin} holds {len(extra)} tensors that the model its config describes does not "
            f"have, such as {', '.join(sorted(extra)[:3])}: it is a variant that is not supported."
        )
    for entry in entries:
        if entry.name not in tensors and entry.absent is not None:
            entry.weight.assign(np.broadcast_to(np.float32(entry.absent), entry.weight.shape))
            continue
        if entry.name not in tensors:
            raise ImportRefusedError(
                f"{origin} lacks the tensor {entry.name}: the file is not whole, or its model is a "
                "variant that is not supported."
            )
        array = entry.read(tensors[entry.name])
        if array.shape != tuple(entry.weight.shape):
            raise ImportRefusedError(
                f"{origin}: {entry.name} gives a weight of shape {array.shape}, but the config "
                f"needs {tuple(entry.weight.shape)}: config and weights are of different models."
            )
        if not np.isfinite(array).all():
            raise ImportRefusedError(
                f"{origin}: {entry.name} holds NaN or infinite values: the training diverged, or "
                "the file is damaged. Take an earlier checkpoint."
            )
        entry.weight.assign(array)


def dump_weights(table: Iterable[Entry], rows: int | None = None) -> dict[str, Array]:
    """Returns a model's weights as the tensors of a file.

    Args:
        table: An entry for each of the model's weights.
        rows: How many rows the file's vocabulary has; those of the model if None.
    """
    packed: dict[str, dict[int, Entry]] = {}
    for entry in table:
        if not entry.name:
            continue
        packed.setdefault(entry.name, {})[entry.part] = entry
    tensors = {}
    for name, parts in packed.items():
        arrays = [parts[part].write(rows) for part in sorted(parts)]
        axis = 0 if parts[0].transposed else -1
        tensors[name] = np.ascontiguousarray(
            arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=axis)
        )
    return tensors


def renamed(table: Iterable[Entry], prefix: str) -> Iterator[Entry]:
    """Yields the entries with a prefix before their tensors' names."""
    for entry in table:
        yield replace(entry, name=prefix + entry.name)
