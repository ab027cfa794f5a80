"""The entries of a manifest: an artefact's files, and the graphs with their inputs and outputs."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.text.subwords.opening import SUFFIXES

_DTYPES = ("bool", "int32", "int64", "float16", "float32")


@dataclasses.dataclass(frozen=True, kw_only=True)
class GraphTensor:
    """One input or output of a graph.

    Args:
        name: Its name in the graph.
        dtype: "bool", "int32", "int64", "float16" or "float32".
        shape: Sizes; a string names an axis whose size the caller chooses, and the same string
            means the same size everywhere in one graph. An empty shape is a scalar.

    Raises:
        ValueError: The dtype is another one.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    def __post_init__(self) -> None:
        if self.dtype not in _DTYPES:
            raise ValueError(
                f"dtype of {self.name} must be one of {', '.join(_DTYPES)}, got {self.dtype!r}."
            )

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> "GraphTensor":
        """Reads the values of the JSON file."""
        shape = tuple(size if isinstance(size, str) else int(size) for size in values["shape"])
        return cls(name=str(values["name"]), dtype=str(values["dtype"]), shape=shape)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoredFile:
    """One file of the artefact: its plain name and the SHA-256 of its bytes in hexadecimal.

    Raises:
        ValueError: The name has a folder.
    """

    file: str
    sha256: str

    def __post_init__(self) -> None:
        if os.path.basename(self.file) != self.file or self.file in ("", ".", ".."):
            raise ValueError(f"file must be a name without a folder, got {self.file!r}.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenizerFile(StoredFile):
    """A vocabulary: its file, and "sentencepiece" or "tokenizer_json", what it is read by."""

    # Artefacts written before there were two kinds name none.
    kind: str = "sentencepiece"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in SUFFIXES:
            raise ValueError(
                f"the kind of the tokenizer in {self.file} must be one of {', '.join(SUFFIXES)}, "
                f"got {self.kind!r}."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Graph(StoredFile):
    """One ONNX graph: its file, and its inputs and outputs in the order they are declared.

    Raises:
        ValueError: There are none.
    """

    inputs: tuple[GraphTensor, ...]
    outputs: tuple[GraphTensor, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for kind in ("inputs", "outputs"):
            if not getattr(self, kind):
                raise ValueError(
                    f"{self.file} has the {kind} () here, and every graph has some: export the "
                    "model again."
                )

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> "Graph":
        """Reads the values of the JSON file."""
        return cls(
            file=str(values["file"]),
            sha256=str(values["sha256"]),
            inputs=tuple(map(GraphTensor.from_values, values["inputs"])),
            outputs=tuple(map(GraphTensor.from_values, values["outputs"])),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class NativeGraphs:
    """Graphs of this package's own operators that an artefact has beside onnxruntime's.

    Args:
        operators_version: Version of the operators that they were written for.
        operators_revision: The operators' revision then; None in artefacts of the first one.
        graphs: The graphs that differ from onnxruntime's, by the same names.

    Raises:
        ValueError: The version or the revision is not an integer.
    """

    operators_version: int
    operators_revision: int | None = None
    graphs: Mapping[str, Graph]

    def __post_init__(self) -> None:
        if self.operators_version is None:
            raise ValueError("operators_version must be an integer beside native graphs, got None.")
        check_operators(self)

    def check_beside(self, target: str, graphs: Mapping[str, Graph]) -> None:
        """Raises a ValueError unless these can stand in place of some graphs of a target."""
        if target != "onnxruntime":
            raise ValueError(
                f"native must be null unless target is 'onnxruntime', got graphs beside those of "
                f"{target!r}."
            )
        if not self.graphs or not set(self.graphs) <= set(graphs):
            raise ValueError(
                f"native must have some of the graphs {', '.join(graphs)}, got "
                f"{', '.join(self.graphs) or 'none'}."
            )

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> "NativeGraphs":
        """Reads the values of the JSON file."""
        return cls(
            operators_version=values["operators_version"],
            operators_revision=values.get("operators_revision"),
            graphs=graphs_from(values["graphs"]),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShortlistFile(StoredFile):
    """A shortlist: its file, where it comes from, and its sizes.

    Args:
        origin: What it was made from.
        always: How many target ids are candidates of every text.
        candidates: The mean number of candidates of a source id that has any.
    """

    origin: str
    always: int
    candidates: float


def graphs_from(values: Mapping[str, Any]) -> dict[str, Graph]:
    """Reads graphs by name from the values of the JSON file."""
    return {name: Graph.from_values(graph) for name, graph in values.items()}


def check_operators(entry: Any) -> None:
    """Raises a ValueError if an entry's version or revision of this package's operators is no
    integer; None stands for the first one.
    """
    for name in ("operators_version", "operators_revision"):
        value = getattr(entry, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise ValueError(f"{name} must be an integer or null, got {value!r}.")


def special_ids_from(values: Mapping[str, Any]) -> SpecialIds:
    """Reads special ids; artefacts of version 0.1 name no decoder_start: it is bos."""
    required = ("pad", "unk", "bos", "eos")
    if not set(required) <= set(values):
        raise ValueError(
            f"special_ids must have the keys {', '.join(required)}, got "
            f"{', '.join(values) or 'none'}."
        )
    return SpecialIds(**values)
