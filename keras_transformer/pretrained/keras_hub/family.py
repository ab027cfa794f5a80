"""What a family of keras-hub is: its fields, weights and vocabulary beside Hugging Face's."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.pretrained.values import FileValues

Array = npt.NDArray[Any]
Config = Mapping[str, Any]


@dataclass(frozen=True)
class Form:
    """How keras-hub shapes a weight that Hugging Face has as a vector or as a matrix.

    Attributes:
        read: Takes keras-hub's array and returns Hugging Face's.
        write: Takes Hugging Face's and the number of heads and returns keras-hub's.
        heads: The field of keras-hub's config that holds this number.
    """

    read: Callable[[Array], Array]
    write: Callable[[Array, int], Array]
    heads: str = ""


SAME = Form(lambda array: array, lambda array, _: array)
# (in, out), which is (out, in) there.
MATRIX = Form(np.transpose, lambda array, _: array.T)


def heads_out(heads: str = "num_heads", *, transposed: bool = True) -> Form:
    """Returns the form of a layer that makes heads: (in, H, K), and (H, K) of its bias.

    Args:
        heads: The field with the number of heads.
        transposed: Whether Hugging Face has it as (out, in).
    """
    turn = np.transpose if transposed else np.asarray

    def read(array: Array) -> Array:
        return turn(array.reshape(*array.shape[:-2], -1))

    def write(array: Array, count: int) -> Array:
        found = turn(array)
        return found.reshape(*found.shape[:-1], count, -1)

    return Form(read, write, heads)


def heads_in(heads: str = "num_heads", *, transposed: bool = True) -> Form:
    """Returns the form of a layer that reads heads: (H, K, out), and (out) of its bias."""
    turn = np.transpose if transposed else np.asarray

    def read(array: Array) -> Array:
        return array if array.ndim == 1 else turn(array.reshape(-1, array.shape[-1]))

    def write(array: Array, count: int) -> Array:
        return array if array.ndim == 1 else turn(array).reshape(count, -1, turn(array).shape[-1])

    return Form(read, write, heads)


def rows_behind(count: int) -> Form:
    """Returns the form of positions, before which Hugging Face has rows that no text reads."""
    return Form(lambda array: np.pad(array, ((count, 0), (0, 0))), lambda array, _: array[count:])


@dataclass(frozen=True)
class Weight:
    """A weight of keras-hub and the tensor of Hugging Face that holds it.

    Attributes:
        path: Its place in `model.weights.h5`, or in `task.weights.h5` behind `TASK`.
        name: The tensor's name.
        form: Its shape.
        part: Which part of the tensor's last axis it is.
        parts: How many parts of one size the tensor has.
    """

    path: str
    name: str
    form: Form = SAME
    part: int = 0
    parts: int = 1


# Before the paths of weights of a task.
TASK = "task:"


def dense(path: str, name: str, form: Form = MATRIX, part: int = 0, parts: int = 1) -> list[Weight]:
    """Returns kernel and bias of a linear layer; files may lack the bias."""
    return [
        Weight(f"{path}/vars/0", f"{name}.weight", form, part, parts),
        Weight(f"{path}/vars/1", f"{name}.bias", form, part, parts),
    ]


def norm(path: str, name: str) -> list[Weight]:
    """Returns γ and β of a norm."""
    return dense(path, name, SAME)


def table(path: str, name: str, form: Form = SAME) -> list[Weight]:
    """Returns a table of vectors."""
    return [Weight(f"{path}/vars/0", f"{name}.weight", form)]


def numbered(name: str, number: int) -> str:
    """Returns the group of a layer, which Keras numbers among those of its class."""
    return f"layers/{name}_{number}" if number else f"layers/{name}"


@dataclass(frozen=True)
class Head:
    """A task of keras-hub that is a head of Hugging Face.

    Attributes:
        architecture: Its name there.
        weights: Those of `task.weights.h5`.
        constants: Fields of Hugging Face's config.
        also: Another architecture that leaves as this task; the config says which one it is.
    """

    architecture: str
    weights: tuple[Weight, ...] = ()
    constants: Config = field(default_factory=dict)
    also: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """The vocabulary of a family.

    Attributes:
        kind: "words" (WordPiece), "bytes" (byte-level BPE), or the file's name that Hugging Face
            has for a SentencePiece model.
        special: Field of Hugging Face's config → the token whose id it is.
        settings: Fields of `tokenizer_config.json`.
        mask: The mask among the pieces of a SentencePiece model; empty if it is behind them.
        fields: Fields of keras-hub's tokenizer that have one value here.
    """

    kind: str
    special: Mapping[str, str]
    settings: Config = field(default_factory=dict)
    mask: str = ""
    fields: Config = field(default_factory=dict)


def _nothing(_: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Family:
    """A family of keras-hub: one table for both directions.

    Attributes:
        model_type: Its name in Hugging Face.
        fields: Field of the backbone's config → those of Hugging Face's that have its value.
        constants: Fields of Hugging Face's that keras-hub's code fixes.
        weights: Takes the backbone's config and returns the weights.
        vocabulary: Its vocabulary.
        heads: The ending of a task's class → the head; "" of a backbone alone.
        body: What may stand before the tensors' names.
        computed: Takes the backbone's config and returns further fields of Hugging Face's.
        written: The way back: takes Hugging Face's config and returns the fields of the backbone's
            that `computed` reads.
        known: Those fields, and others that say nothing here.
        optional: Endings of the names of tensors that some models lack.
        zeros: Name of a tensor that must be zero, as keras-hub has none.
        pooler: Name of the linear layer that keras-hub always has, and models without a pooler not.
        added: Name of a tensor with one row that keras-hub lacks → the table that takes it up.
    """

    model_type: str
    fields: Mapping[str, tuple[str, ...]]
    constants: Config
    weights: Callable[[Config], Iterable[Weight]]
    vocabulary: Vocabulary
    heads: Mapping[str, Head]
    body: str = ""
    computed: Callable[[FileValues], dict[str, Any]] = _nothing
    written: Callable[[Config], dict[str, Any]] = _nothing
    known: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    zeros: str = ""
    pooler: str = ""
    added: tuple[str, str] | None = None


def layers(
    config: Config, group: str, name: str, block: Mapping[str, tuple[str, Form]], first: int = 0
) -> Iterator[Weight]:
    """Yields the weights of blocks that follow each other.

    Args:
        config: The backbone's.
        group: The snake-case name of the block's class.
        name: The beginning of the tensors' names, with a place for the block's number.
        block: The path of a layer within the block → the tensors' name and form.
        first: The number of the first block among those of its class.
    """
    for number in range(config["num_layers"]):
        here = numbered(group, first + number)
        for path, (theirs, form) in block.items():
            yield from dense(f"{here}/{path}", name.format(number) + theirs, form)
