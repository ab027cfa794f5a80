"""Reads, writes and verifies `manifest.json`, the contract between exporter and runtime. It names
an artefact's files with their SHA-256, the graphs' inputs and outputs, the special ids and the
model's sizes.
"""

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformer.artefact.config_fields import check_config
from keras_transformer.artefact.entries import (
    Graph,
    NativeGraphs,
    ShortlistFile,
    StoredFile,
    TokenizerFile,
    check_operators,
    graphs_from,
    special_ids_from,
)
from keras_transformer.artefact.graph_names import SHORTLIST, graph_file, graph_names
from keras_transformer.config.checks import check_choice
from keras_transformer.config.family import ENCODER_DECODER, family_of
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.path_kinds import describe_path
from keras_transformer.search.confidence import check_min_score
from keras_transformer.search.keywords import check_defaults
from keras_transformer.text.training_text import TrainingText

FORMAT = "keras-transformer-onnx"
FORMAT_VERSION = 5
MANIFEST_FILE = "manifest.json"
WEIGHTS_FILE = "weights.bin"
SHORTLIST_FILE = "shortlist.npz"

# Those of an encoder-decoder.
GRAPHS = ENCODER_DECODER.graphs
TARGETS = ("onnxruntime", "native", "portable")
# The field with the hash of the others.
_OWN_SHA256 = "sha256"
_HASH_BLOCK_BYTES = 1 << 20
_INNERMOST_LIST = re.compile(r"\[[^\[\]{}]*\]")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Manifest:
    """The contents of an artefact; `docs/onnx_artefact.md` explains every field for programs in
    other languages.

    Args:
        config: The model's config as plain values; its "family" names the kind of model.
        special_ids: The token ids that stand for no text, and the one that decoding starts with.
        target: "onnxruntime" if the graphs have its fused operators (domain com.microsoft),
            "native" if they have this package's own as well (domain keras_transformer),
            "portable" if they have standard operators only.
        native: Graphs of this package's own operators, to be used in place of those of
            onnxruntime where that is faster; None if there are none beside `graphs`.
        precision: How weights are stored and multiplied: "float32", or a quantization's name.
        opset: ONNX operator set of the graphs' default domain.
        graphs: "encoder", "decoder", "greedy", "greedy_scores", "scorer" and "prefill", which older
            artefacts lack; of an encoder alone "encoder" and, if it has a head or a pooler, "head",
            and "next_sentence" if it has two; of a decoder alone all but "encoder". "shortlist" if
            there is one.
        weights: The file with the graphs' weights.
        tokenizers: Vocabularies of "source" and "target", the same file if the vocabulary is
            shared; of one stack alone one of "text".
        max_difference: Largest absolute difference from Keras that the export's check measured.
        operators_version: Version of this package's own operators that `graphs` were written for;
            None if they have none, and in artefacts of its first version.
        operators_revision: Revision of those operators, up to which a library of that version must
            have come; None if `graphs` have none, and in artefacts of its first revision.
        fallback: Why the target is not the one that was requested; None otherwise.
        min_score: Log-probability a token, in nats, below which a translation has low confidence;
            None if training calibrated none.
        search: Fields of `SearchOptions` that hold where a caller gives none; empty unless the
            model was imported with some.
        producer: Versions of the packages that wrote the artefact.
        training_text: Lengths and sentences of the lines that the model was trained on; None if
            unknown.
        shortlist: The target tokens that each source token may need; None if searches choose among
            all.
        chat: The template of chats; None if the model has none.
        adapter_base: What the files of adapters call the model's weights; None if the graphs take
            no adapters, and in artefacts of earlier versions.
        format_version: Version of this contract.

    Raises:
        ValueError: A field contradicts the contract; the message names it.
    """

    config: Mapping[str, Any]
    special_ids: SpecialIds
    target: str
    precision: str
    opset: int
    graphs: Mapping[str, Graph]
    weights: StoredFile
    tokenizers: Mapping[str, TokenizerFile]
    max_difference: float
    native: NativeGraphs | None = None
    operators_version: int | None = None
    operators_revision: int | None = None
    fallback: str | None = None
    min_score: float | None = None
    search: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    producer: Mapping[str, str] = dataclasses.field(default_factory=dict)
    training_text: TrainingText | None = None
    shortlist: ShortlistFile | None = None
    chat: StoredFile | None = None
    adapter_base: str | None = None
    format_version: int = FORMAT_VERSION

    def __post_init__(self) -> None:
        family = family_of(self.config)
        listed = () if self.shortlist is None else (SHORTLIST,)
        for field, expected, optional in (
            ("graphs", (*graph_names(self.config), *listed), family.later_graphs),
            ("tokenizers", family.tokenizers, ()),
        ):
            if set(getattr(self, field)) | set(optional) != set(expected):
                raise ValueError(
                    f"{field} must have the keys {', '.join(expected)}, got "
                    f"{', '.join(getattr(self, field)) or 'none'}."
                )
        check_choice("target", self.target, TARGETS)
        check_config(self.config, self.special_ids)
        check_min_score(self.min_score)
        check_operators(self)
        if self.native is not None:
            self.native.check_beside(self.target, self.graphs)
        native = {} if self.native is None else self.native.graphs
        for name, graph in (*self.graphs.items(), *native.items()):
            if not graph.file.endswith(graph_file(name)):
                raise ValueError(
                    f"graphs gives {name} the file {graph.file}, expected {graph_file(name)}: "
                    "graphs were exchanged."
                )
        check_defaults(self.search)

    @property
    def family(self) -> str:
        """The kind of model: "encoder-decoder", "encoder" or "decoder"."""
        return family_of(self.config).name

    @property
    def files(self) -> list[StoredFile]:
        """Every file that belongs to the artefact, except the manifest."""
        native = () if self.native is None else self.native.graphs.values()
        others = [one for one in (self.shortlist, self.chat) if one is not None]
        graphs = (*self.graphs.values(), *native)
        return [*graphs, self.weights, *self.tokenizers.values(), *others]

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that there are graphs for."""
        return (self.target,) if self.native is None else ("native", self.target)

    def of_target(self, target: str) -> "Manifest":
        """Returns the contract of the graphs for one of `targets` alone.

        Raises:
            ValueError: There are no graphs for it.
        """
        if target not in self.targets:
            raise ValueError(
                f"the artefact has graphs for {' and '.join(self.targets)} only, got "
                f"target={target!r}: export the model for it."
            )
        if self.native is None:
            return self
        alone = dataclasses.replace(self, native=None)
        if target == self.target:
            return alone
        return dataclasses.replace(
            alone,
            target=target,
            graphs={**self.graphs, **self.native.graphs},
            operators_version=self.native.operators_version,
            operators_revision=self.native.operators_revision,
        )

    @classmethod
    def read(cls, directory: str | os.PathLike[str]) -> "Manifest":
        """Reads an artefact's manifest; the other files are not touched (see `verify`).

        Args:
            directory: The artefact.

        Raises:
            FileNotFoundError: The directory or its manifest is missing.
            ValueError: The manifest is not JSON, of another format or version, incomplete, or its
                fields were changed after it was written.
        """
        path = Path(directory) / MANIFEST_FILE
        if not path.parent.is_dir():
            raise FileNotFoundError(
                describe_path(path.parent).strip()
                or f"no directory {path.parent}: export a model there first."
            )
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{path.parent} holds no {MANIFEST_FILE}: it is not an exported artefact."
                + describe_path(path.parent)
            ) from error
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8 text; export the model again.") from error
        try:
            return cls.from_json(text)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def write(self, directory: str | os.PathLike[str]) -> None:
        """Writes `manifest.json` into a directory."""
        (Path(directory) / MANIFEST_FILE).write_text(self.to_json(), encoding="utf-8")

    def verify(self, directory: str | os.PathLike[str]) -> None:
        """Checks that every file is there and holds the bytes that were exported.

        Raises:
            FileNotFoundError: A file is missing; the message names it.
            ValueError: A file's SHA-256 differs from the manifest's.
        """
        for entry in {entry.file: entry for entry in self.files}.values():
            path = Path(directory) / entry.file
            check_is_there(path)
            check_sha256(path, sha256_of(path), entry.sha256)

    def to_json(self) -> str:
        """Returns the manifest as JSON text."""
        values = {**dataclasses.asdict(self), "special_ids": self.special_ids.to_dict()}
        values = {"format": FORMAT, **values}
        text = json.dumps({_OWN_SHA256: _own_sha256(values), **values}, indent=2)
        # Puts each shape on one line; names have no brackets.
        return _INNERMOST_LIST.sub(lambda found: " ".join(found[0].split()), text) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Manifest":
        """Reads `to_json`'s text back.

        Raises:
            ValueError: The text is not a manifest, or one of its values is not valid.
        """
        try:
            values = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(
                f"not valid JSON ({error}): the file was cut short or edited; export again."
            ) from error
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            found = values.get("format") if isinstance(values, dict) else type(values).__name__
            kind = " A number is that of a prepared corpus." if isinstance(found, int) else ""
            raise ValueError(f"format must be {FORMAT!r}, got {found!r}.{kind}")
        if values.get("format_version") != FORMAT_VERSION:
            raise ValueError(
                f"format_version must be {FORMAT_VERSION}, got {values.get('format_version')!r}: "
                "read it with the version of keras-transformer that wrote it, or export again."
            )
        _check_own_sha256(values)
        try:
            return _from_values(values)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"a field is missing or of the wrong kind: {error!r}.") from error


def check_is_there(path: Path) -> None:
    """Raises a FileNotFoundError unless a file that a manifest names is there."""
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing, though {MANIFEST_FILE} names it: copy the artefact whole."
        )


def check_sha256(path: Path, found: str, expected: str) -> None:
    """Raises a ValueError unless a file has the SHA-256 that its manifest says."""
    if found != expected:
        raise ValueError(
            f"{path} has SHA-256 {found}, expected {expected}: the file was changed or cut short; "
            "copy or export the artefact again."
        )


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Returns the SHA-256 of a file's bytes in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(_HASH_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _own_sha256(values: Mapping[str, Any]) -> str:
    """Returns the SHA-256 of a manifest's fields but for the one that holds it.

    It does not depend on their order or on spaces.
    """
    fields = {name: value for name, value in values.items() if name != _OWN_SHA256}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _check_own_sha256(values: Mapping[str, Any]) -> None:
    expected = values.get(_OWN_SHA256)
    # Earlier versions wrote none.
    if expected is not None and (found := _own_sha256(values)) != expected:
        raise ValueError(
            f"its fields have SHA-256 {found}, expected {expected}: the file was changed after it "
            "was written; copy or export the artefact again."
        )


def _from_values(values: dict[str, Any]) -> Manifest:
    native, seen = values.get("native"), values.get("training_text")
    listed, weights, chat = values.get("shortlist"), values["weights"], values.get("chat")
    return Manifest(
        config=dict(values["config"]),
        special_ids=special_ids_from(values["special_ids"]),
        target=str(values["target"]),
        native=None if native is None else NativeGraphs.from_values(native),
        precision=str(values["precision"]),
        opset=int(values["opset"]),
        graphs=graphs_from(values["graphs"]),
        weights=StoredFile(file=str(weights["file"]), sha256=str(weights["sha256"])),
        tokenizers={side: TokenizerFile(**entry) for side, entry in values["tokenizers"].items()},
        max_difference=float(values["max_difference"]),
        operators_version=values.get("operators_version"),
        operators_revision=values.get("operators_revision"),
        fallback=values.get("fallback"),
        min_score=_number(values.get("min_score")),
        search=dict(values.get("search", {})),
        producer=dict(values.get("producer", {})),
        training_text=None if seen is None else TrainingText.from_dict(seen),
        shortlist=None if listed is None else ShortlistFile(**listed),
        chat=None if chat is None else StoredFile(**chat),
        adapter_base=values.get("adapter_base"),
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
