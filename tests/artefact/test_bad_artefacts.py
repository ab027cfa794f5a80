"""Whatever is wrong with an artefact is told by file and mend: when it is opened, or, where a hash
agrees with a graph that is none, when that graph is first needed."""

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import sentencepiece

from keras_transformer.export import Manifest, OnnxTranslator
from keras_transformer.text.tokenizer import train_tokenizer

GRAPHS = ("encoder", "decoder", "greedy", "greedy_scores", "scorer", "prefill")
FILES = (
    "manifest.json",
    *(f"{graph}.onnx" for graph in GRAPHS),
    "weights.bin",
    "tokenizer.model",
)
# What needs a graph first; the last needs the one for greedy steps, too.
CALLS: dict[str, Callable[[OnnxTranslator], object]] = {
    "decoder": lambda translator: translator.translate(["hello"], beam_size=2, max_length=3),
    "greedy": lambda translator: translator.translate(["hello"], max_length=3),
    "greedy_scores": lambda translator: translator.translate_n_best(["hello"], max_length=3),
    "scorer": lambda translator: translator.score(["hello"], ["hello"]),
    "prefill": lambda translator: translator.translate(["hello"], target_prefixes=[TEXTS[0]]),
}
TEXTS = ["a small house stands by the river", "the red dog runs to the house", "hello, you"]


@pytest.fixture
def copy(exported: Any, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported.path, tmp_path / "copy"))


def edit(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the manifest's values in place, as one that has no hash of itself."""
    file = directory / "manifest.json"
    values = json.loads(file.read_text())
    values.pop("sha256", None)
    change(values)
    file.write_text(json.dumps(values))


def put(directory: Path, name: str, data: bytes) -> None:
    """Replaces a file and its hash, as somebody who knows the manifest would."""
    (directory / name).write_bytes(data)

    def rehash(values: dict[str, Any]) -> None:
        tokenizers = values["tokenizers"].values()
        for entry in (*values["graphs"].values(), *tokenizers, values["weights"]):
            if entry["file"] == name:
                entry["sha256"] = hashlib.sha256(data).hexdigest()

    edit(directory, rehash)


def change_graph(directory: Path, name: str, change: Callable[[Any], object]) -> None:
    """Changes an ONNX graph in place, and its hash."""
    model = onnx.load(directory / name, load_external_data=False)
    change(model.graph)
    put(directory, name, model.SerializeToString())


def refused(directory: Path, message: str, error: type[Exception] = ValueError) -> None:
    with pytest.raises(error, match=message):
        OnnxTranslator(directory, threads=1)


def graph_refused(directory: Path, graph: str, message: str) -> None:
    """As `refused`, for graphs that are opened when they are first needed; the others still run."""
    if graph not in CALLS:
        return refused(directory, message)
    with OnnxTranslator(directory, threads=1) as translator:
        for name, call in (*CALLS.items(), *CALLS.items()):
            if name != graph and (name, graph) != ("prefill", "greedy"):
                call(translator)
                continue
            with pytest.raises(ValueError, match=message):
                call(translator)


# The directory and its files.


def test_a_missing_directory(tmp_path: Path) -> None:
    refused(tmp_path / "nothing", "no directory .*nothing: export", FileNotFoundError)


def test_a_file_instead_of_a_directory(exported: Any) -> None:
    refused(
        exported.path / "encoder.onnx",
        "encoder.onnx is a file of a model: give its directory",
        FileNotFoundError,
    )


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file(copy: Path, name: str) -> None:
    (copy / name).unlink()
    refused(copy, name, FileNotFoundError)


@pytest.mark.parametrize("name", FILES[1:])
def test_a_folder_instead_of_a_file(copy: Path, name: str) -> None:
    (copy / name).unlink()
    (copy / name).mkdir()
    refused(copy, name, FileNotFoundError)


@pytest.mark.parametrize("name", FILES[1:])
@pytest.mark.parametrize("damage", ["one bit", "cut", "empty", "longer"])
def test_a_file_that_is_not_what_was_exported(copy: Path, name: str, damage: str) -> None:
    data = bytearray((copy / name).read_bytes())
    if damage == "one bit":
        data[-1] ^= 1
    elif damage == "longer":
        data += b"\0"
    else:
        del data[len(data) // 2 if damage == "cut" else 0 :]
    (copy / name).write_bytes(data)
    refused(copy, f"{name} has SHA-256 .* expected .* copy or export the artefact again")


# The manifest.


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "manifest.json: not valid JSON"),
        (b"[]", "manifest.json: format must be 'keras-transformer-onnx', got 'list'"),
        (b"null", "manifest.json: format must be 'keras-transformer-onnx', got 'NoneType'"),
        (b"{}", "manifest.json: format must be 'keras-transformer-onnx', got None"),
        (b"\xff\xfe", "manifest.json is not UTF-8"),
    ],
)
def test_a_manifest_that_is_none(copy: Path, content: bytes, message: str) -> None:
    (copy / "manifest.json").write_bytes(content)
    refused(copy, message)


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.99])
def test_a_manifest_that_was_cut_short(copy: Path, cut: float) -> None:
    text = (copy / "manifest.json").read_text()
    (copy / "manifest.json").write_text(text[: int(cut * len(text))])
    refused(copy, "manifest.json: not valid JSON")


@pytest.mark.parametrize("version", [0, 99, "1", None])
def test_another_version(copy: Path, version: object) -> None:
    edit(copy, lambda values: values.update(format_version=version))
    refused(copy, f"format_version must be .*, got {version!r}: .*export again")


@pytest.mark.parametrize(
    "field",
    ["config", "special_ids", "opset", "graphs", "weights", "tokenizers", "max_difference"],
)
@pytest.mark.parametrize("value", ["missing", None, [], "text", {"a": 1}], ids=str)
def test_a_field_that_is_missing_or_of_another_kind(copy: Path, field: str, value: object) -> None:
    def change(values: dict[str, Any]) -> None:
        if value == "missing":
            del values[field]
        else:
            values[field] = value

    edit(copy, change)
    refused(copy, "manifest.json: ")


@pytest.mark.parametrize("kind", ["graphs", "tokenizers"])
@pytest.mark.parametrize("folder", ["..", "sub", "/tmp", "."])
def test_a_file_in_another_folder(copy: Path, kind: str, folder: str) -> None:
    def change(values: dict[str, Any]) -> None:
        for entry in values[kind].values():
            entry["file"] = f"{folder}/{entry['file']}"

    edit(copy, change)
    refused(copy, "manifest.json: file must be a name without a folder")


@pytest.mark.parametrize("field", ["source_vocab_size", "target_vocab_size"])
@pytest.mark.parametrize("value", [None, "60", 60.5, True, 0, -1], ids=str)
def test_a_config_without_a_vocabulary_size(copy: Path, field: str, value: object) -> None:
    edit(copy, lambda values: values["config"].update({field: value}))
    refused(copy, f"manifest.json: config must give {field}.*got {value!r}")
    edit(copy, lambda values: values["config"].pop(field))
    refused(copy, f"manifest.json: config must give {field}.*got None")


@pytest.mark.parametrize("value", ["1", 1.5, True, [1]], ids=str)
def test_a_version_of_the_operators_that_is_none(copy: Path, value: object) -> None:
    edit(copy, lambda values: values.update({"operators_version": value}))
    refused(copy, "manifest.json: operators_version must be an integer or null, got")


@pytest.mark.parametrize("field", ["model_dim", "feed_forward_dim"])
@pytest.mark.parametrize("value", ["missing", None, 0, "8", [1], 2.5, True], ids=str)
def test_a_config_without_a_width(copy: Path, field: str, value: object) -> None:
    def change(values: dict[str, Any]) -> None:
        values["config"][field] = value
        if value == "missing":
            del values["config"][field]

    edit(copy, change)
    refused(copy, f"manifest.json: config must give {field}, an integer in 1 to 16777216, got")


@pytest.mark.parametrize(
    "marks",
    [None, [], "text", {"languages": []}, {"source": 5}, {"source": ["a"]}, {"target": [60]}],
    ids=str,
)
def test_a_config_with_marks_that_are_none(copy: Path, marks: object) -> None:
    edit(copy, lambda values: values["config"].update(marks=marks))
    refused(copy, "manifest.json: config has marks")


@pytest.mark.parametrize("value", [0, "8", [1]], ids=str)
def test_a_config_with_positions_that_are_none(copy: Path, value: object) -> None:
    edit(copy, lambda values: values["config"].update(max_positions=value))
    refused(copy, "manifest.json: config must give max_positions")


@pytest.mark.parametrize("value", [60, 10**30], ids=str)
def test_a_special_id_beyond_the_vocabulary(copy: Path, value: int) -> None:
    edit(copy, lambda values: values["special_ids"].update(decoder_start=value))
    refused(copy, f"manifest.json: special_ids names the id {value}, but .* ids 0 to 59")


def test_a_number_that_is_none(copy: Path) -> None:
    edit(copy, lambda values: values.update(opset=float("inf")))
    refused(copy, "manifest.json: a field is missing or of the wrong kind")


@pytest.mark.parametrize("family", ["encoder", "decoder"])
@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("model_dim", 0, "model_dim must be at least 1, got 0"),
        ("num_layers", None, "config: num_layers must be an integer, got None"),
        ("special_ids", None, "config: special_ids must be SpecialIds, got None"),
        ("of_later_versions", 1, r"unknown config field\(s\) of_later_versions"),
    ],
)
def test_a_config_of_one_stack_that_is_none(
    export_small: Any, tmp_path: Path, family: str, field: str, value: object, message: str
) -> None:
    copy = Path(shutil.copytree(export_small(family, "onnxruntime").path, tmp_path / "copy"))
    edit(copy, lambda values: values["config"].update({field: value}))
    with pytest.raises(ValueError, match=f"manifest.json: .*{message}"):
        Manifest.read(copy)


# The graphs; their hashes are right.


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("data", ["cut", b"", b"no graph"], ids=["cut", "empty", "text"])
def test_a_graph_that_is_broken(copy: Path, graph: str, data: Any) -> None:
    name = f"{graph}.onnx"
    if data == "cut":
        data = (copy / name).read_bytes()
        data = data[: len(data) // 2]
    put(copy, name, data)
    graph_refused(copy, graph, f"{name}.*export the model again")


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_graph_of_an_unknown_operator(copy: Path, graph: str) -> None:
    def change(found: Any) -> None:
        found.node[0].op_type = "NoSuchOperator"

    change_graph(copy, f"{graph}.onnx", change)
    graph_refused(copy, graph, f"{graph}.onnx.*export the model again")


def test_graphs_that_changed_places(copy: Path) -> None:
    encoder, decoder = ((copy / f"{graph}.onnx").read_bytes() for graph in GRAPHS[:2])
    put(copy, "encoder.onnx", decoder)
    put(copy, "decoder.onnx", encoder)
    refused(copy, "encoder.onnx has the inputs .* but the manifest names .*export the model again")


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("kind", ["inputs", "outputs"])
def test_a_manifest_that_names_other_tensors(copy: Path, graph: str, kind: str) -> None:
    def change(values: dict[str, Any]) -> None:
        values["graphs"][graph][kind][0]["name"] = "other"

    edit(copy, change)
    graph_refused(copy, graph, f"{graph}.onnx has the {kind} .* the manifest names other")


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("kind", ["inputs", "outputs"])
def test_a_manifest_that_lacks_a_tensor(copy: Path, graph: str, kind: str) -> None:
    edit(copy, lambda values: values["graphs"][graph][kind].pop())
    graph_refused(copy, graph, f"{graph}.onnx has the {kind} .*export the model again")


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("kind", ["inputs", "outputs"])
@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("dtype", lambda dtype: "int32" if dtype == "float32" else "float32"),
        ("shape", lambda shape: [*shape[:-1], 7]),
        ("shape", lambda shape: [*shape, 2]),
        ("shape", lambda shape: ["another", *shape[1:]]),
    ],
    ids=["dtype", "size", "rank", "axis name"],
)
def test_a_manifest_that_gives_a_tensor_another_type(
    copy: Path, graph: str, kind: str, field: str, change: Callable[[Any], Any]
) -> None:
    names = []

    def edit_last(values: dict[str, Any]) -> None:
        tensor = values["graphs"][graph][kind][-1]
        tensor[field] = change(tensor[field])
        names.append(tensor["name"])

    edit(copy, edit_last)
    graph_refused(copy, graph, f"{graph}.onnx.*{names[0]}.*export the model again")


@pytest.mark.parametrize("keep", [0, 100])
def test_weights_that_are_cut_short(copy: Path, keep: int) -> None:
    put(copy, "weights.bin", (copy / "weights.bin").read_bytes()[:keep])
    refused(copy, "encoder.onnx.*export the model again")


def test_weights_may_be_a_link_into_another_directory(copy: Path, tmp_path: Path) -> None:
    (copy / "weights.bin").rename(tmp_path / "elsewhere")
    (copy / "weights.bin").symlink_to(tmp_path / "elsewhere")
    with OnnxTranslator(copy, threads=1) as translator:
        assert translator.translate(["hello"], max_length=3)


# The tokenizers; their hashes are right.


def train(size: int, *ids: int) -> bytes:
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS),
        model_writer=writer,
        vocab_size=size,
        model_type="bpe",
        minloglevel=2,
        **dict(zip(("pad_id", "unk_id", "bos_id", "eos_id"), ids, strict=True)),
    )
    return writer.getvalue()


@pytest.mark.parametrize("ids", [(3, 0, 1, 2), (0, 1, 3, 2), (-1, 0, 1, 2)], ids=str)
def test_a_tokenizer_of_other_special_ids(copy: Path, ids: tuple[int, ...]) -> None:
    put(copy, "tokenizer.model", train(60, *ids))
    refused(copy, "tokenizer.model has the special ids .* but the manifest says .*export")


def test_a_tokenizer_of_another_vocabulary_size(copy: Path) -> None:
    put(copy, "tokenizer.model", train_tokenizer(TEXTS, 50, "bpe").model)
    refused(copy, "tokenizer.model has 50 pieces.*source_vocab_size.*60.*export the model again")


def test_a_target_tokenizer_of_another_vocabulary_size(copy: Path) -> None:
    data = train_tokenizer(TEXTS, 50, "bpe").model
    (copy / "target_tokenizer.model").write_bytes(data)
    entry = {"file": "target_tokenizer.model", "sha256": hashlib.sha256(data).hexdigest()}
    edit(copy, lambda values: values["tokenizers"].update(target=entry))
    refused(copy, "target_tokenizer.model has 50 pieces.*target_vocab_size.*60.*export")


@pytest.mark.parametrize("data", [b"", b"no tokenizer", "cut"], ids=["empty", "text", "cut"])
def test_a_tokenizer_that_is_broken(copy: Path, data: Any) -> None:
    if data == "cut":
        data = (copy / "tokenizer.model").read_bytes()[:-100]
    put(copy, "tokenizer.model", data)
    refused(copy, "tokenizer.model.*no SentencePiece model.*export the model again")


def test_special_ids_that_the_tokenizer_has_not(copy: Path) -> None:
    edit(copy, lambda values: values["special_ids"].update(eos=2, bos=3))
    refused(copy, "tokenizer.model has the special ids .* but the manifest says")
