"""Presets of keras-hub: ids, states, logits, probabilities and continuations are those that
keras-hub computed.
"""

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from few_updates import without_graphs

from keras_transformer import (
    Generator,
    OnnxEncoder,
    OnnxGenerator,
    OnnxTranslator,
    Translator,
    from_keras_hub,
    from_pretrained,
)
from keras_transformer.cli.commands.import_model import main
from keras_transformer.export import export_onnx
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.keras_hub.directory import FAMILIES
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.runs.finished_run import load_run
from keras_transformer.text.layout import encoder_row

FOLDER = Path(__file__).parents[2] / "fixtures" / "keras_hub"
# Of texts that are searched for: all of them take seconds.
FEW = 2
NAMES = sorted(path.stem for path in FOLDER.iterdir())


class Read(NamedTuple):
    """A preset that was read, and what keras-hub computed."""

    path: Path
    model: Any
    tokenizer: Any
    reference: dict[str, Any]

    def logits(self, row: list[int]) -> Any:
        """Returns what the model gives for a row of ids, float64."""
        inputs = {"token_ids": np.array([row], np.int32)}
        if getattr(self.model.config, "num_token_types", 0) > 1:
            inputs["token_type_ids"] = np.zeros((1, len(row)), np.int32)
        return np.asarray(self.model(inputs), np.float64)[0]


@pytest.fixture(scope="module")
def unpack(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpacks a preset once."""

    def unpack_once(name: str) -> Path:
        path = tmp_path_factory.getbasetemp() / f"keras_hub_{name}"
        if not path.exists():
            zipfile.ZipFile(FOLDER / f"{name}.zip").extractall(path)
        return path

    return unpack_once


@pytest.fixture(scope="module")
def read(unpack: Callable[[str], Path]) -> Callable[[str], Read]:
    """Reads a preset once."""
    known: dict[str, Read] = {}

    def open_once(name: str) -> Read:
        if name not in known:
            path = unpack(name)
            reference = json.loads((path / "reference.json").read_text(encoding="utf-8"))
            known[name] = Read(path, *from_pretrained(path)[:2], reference)
        return known[name]

    return open_once


def with_key(key: str) -> list[str]:
    """Returns the presets whose references have a key."""
    found = []
    for name in NAMES:
        with zipfile.ZipFile(FOLDER / f"{name}.zip") as archive:
            if key in json.loads(archive.read("reference.json")):
                found.append(name)
    return found


DECODERS, TRANSLATORS = with_key("prompts"), with_key("rows")
ENCODERS = sorted({*NAMES} - {*DECODERS, *TRANSLATORS})


def test_every_family_has_a_preset(unpack: Callable[[str], Path]) -> None:
    configs = [json.loads((unpack(name) / "config.json").read_text()) for name in NAMES]
    assert {config["class_name"] for config in configs} == set(FAMILIES)


@pytest.mark.parametrize("name", NAMES)
def test_ids_are_theirs(name: str, read: Callable[[str], Read]) -> None:
    _, model, tokenizer, reference = read(name)
    assert tokenizer.encode(reference["hostile"]) == reference["hostile_ids"]
    rows, ids = tokenizer.encode(reference["texts"]), tokenizer.special_ids
    if name in TRANSLATORS:
        start = list(model.config.marks.source)
        expected = [row["source"] for row in reference["rows"]]
        assert [[*start, *row, ids.eos] for row in rows] == expected
        return
    if name in ENCODERS:
        rows = [encoder_row(row, None, ids)[0] for row in rows]
    elif model.config.starts_prompts:
        rows = [[ids.decoder_start, *row] for row in rows]
    assert rows == reference["ids"]


@pytest.mark.parametrize("name", ENCODERS)
def test_outputs_of_encoders_are_theirs(name: str, read: Callable[[str], Read]) -> None:
    given = read(name)
    for place, row in enumerate(given.reference["ids"][:2]):
        found = given.logits(row)
        if "token_log_probabilities" in given.reference:
            expected = given.reference["token_log_probabilities"][place]
            total = np.log(np.exp(found).sum(axis=-1))
            found = found[np.arange(len(row)), row] - total
        else:
            expected = given.reference["logits" if "logits" in given.reference else "states"][place]
        assert np.abs(expected).max() > 0.3
        np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in ENCODERS if name.endswith("classes")])
def test_rows_of_pairs_are_theirs(name: str, read: Callable[[str], Read]) -> None:
    _, model, tokenizer, reference = read(name)
    both = [tokenizer.encode(side) for side in zip(*reference["pairs"], strict=True)]
    count = model.config.pair_separators
    rows = [encoder_row(*pair, tokenizer.special_ids, count)[0] for pair in zip(*both, strict=True)]
    assert rows == reference["pair_ids"]


@pytest.mark.parametrize("name", DECODERS)
def test_probabilities_and_continuations_are_theirs(name: str, read: Callable[[str], Read]) -> None:
    given = read(name)
    for row, expected in zip(
        given.reference["ids"], given.reference["log_probabilities"], strict=True
    ):
        logits = given.logits(row)
        logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        np.testing.assert_allclose(
            logits[np.arange(len(row) - 1), row[1:]].sum(), expected, atol=1e-4
        )
    with without_graphs():
        check_greedy(Generator(given.model, given.tokenizer), given)


def check_greedy(generator: Any, given: Read) -> None:
    # The generator begins prompts itself.
    first = int(given.model.config.starts_prompts)
    prompts = [row[first:] for row in given.reference["prompts"][:FEW]]
    results = generator.generate_ids(prompts, max_length=12, min_length=0)
    assert [found[0].ids for found in results] == until_eos(given)[:FEW]


@pytest.mark.parametrize("name", TRANSLATORS)
def test_probabilities_and_searches_of_translators_are_theirs(
    name: str, read: Callable[[str], Read]
) -> None:
    given = read(name)
    begins = len(given.model.config.marks.target)
    for both, expected in zip(
        given.reference["rows"], given.reference["log_probabilities"], strict=True
    ):
        source, target = np.array([both["source"]]), np.array([both["target"]])
        logits = given.model({"source_ids": source, "target_ids": target[:, :-1]})
        logits = np.asarray(logits, np.float64)[0]
        logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        found = logits[np.arange(len(logits)), both["target"][1:]][begins:].sum()
        np.testing.assert_allclose(found, expected, atol=1e-4)
    with without_graphs():
        check_translator(Translator(given.model, given.tokenizer, given.tokenizer), given)


def check_translator(translator: Any, given: Read) -> None:
    reference = given.reference
    begins = [*given.model.config.marks.target]  # Which translations hold, too.
    limits = {"max_length_ratio": 9.0, "min_length": 0, "beam_size": 1}
    results = translator.translate_n_best(
        reference["texts"][:FEW], max_length=12 + len(begins), **limits
    )
    theirs = [[*begins, *row] for row in until_eos(given)]
    assert [found[0].ids for found in results] == theirs[:FEW]


def until_eos(given: Read) -> list[list[int]]:
    eos = given.model.config.special_ids.eos
    return [row[: row.index(eos)] if eos in row else row for row in given.reference["greedy"]]


def test_an_exported_translator_searches_as_theirs(
    read: Callable[[str], Read], tmp_path: Path
) -> None:
    given = read("t5")
    export_onnx(given.model, given.tokenizer, tmp_path / "model")
    check_translator(OnnxTranslator(tmp_path / "model", threads=1), given)


def test_an_exported_decoder_writes_their_continuations(
    read: Callable[[str], Read], tmp_path: Path
) -> None:
    given = read("gpt2")
    export_onnx(given.model, given.tokenizer, tmp_path / "model")
    check_greedy(OnnxGenerator(tmp_path / "model", threads=1), given)


def test_an_exported_classifier_gives_their_classes(
    read: Callable[[str], Read], tmp_path: Path
) -> None:
    given = read("bert_classes")
    export_onnx(given.model, given.tokenizer, tmp_path / "model")
    with OnnxEncoder(tmp_path / "model", threads=1) as encoder:
        found = encoder.classify(*zip(*given.reference["pairs"], strict=True))
    wide = np.exp(np.asarray(given.reference["pair_logits"], np.float64))
    np.testing.assert_allclose(
        [one.probabilities for one in found], wide / wide.sum(axis=1, keepdims=True), atol=1e-5
    )


def test_the_command_writes_a_run(read: Callable[[str], Read], tmp_path: Path) -> None:
    given = read("bert_classes")
    assert main([str(given.path), "--output", str(tmp_path / "run")]) == 0
    made, tokenizer, _ = load_run(tmp_path / "run")
    assert tokenizer.encode(given.reference["hostile"]) == given.reference["hostile_ids"]
    for found, weight in zip(made.get_weights(), given.model.get_weights(), strict=True):
        np.testing.assert_array_equal(found, weight)


class Living:
    """A model of keras-hub, as far as it is asked."""

    def __init__(self, path: Path, ignored: str) -> None:
        self._path, self._ignored = path, shutil.ignore_patterns(ignored)

    def save_to_preset(self, path: str) -> None:
        shutil.copytree(self._path, path, ignore=self._ignored, dirs_exist_ok=True)


def test_a_living_model_is_read_as_its_preset(read: Callable[[str], Read]) -> None:
    path, model, _, reference = read("distil_bert")
    made, tokenizer, _ = from_keras_hub(Living(path, "tokenizer*"), tokenizer=Living(path, "*.h5"))
    assert tokenizer.encode(reference["hostile"]) == reference["hostile_ids"]
    for found, weight in zip(made.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(found, weight)
    with pytest.raises(ImportRefusedError, match=r"has no tokenizer: save it there"):
        from_keras_hub(Living(path, "tokenizer*"))
    with pytest.raises(TypeError, match=r"or the directory of a preset, got int"):
        from_keras_hub(3)


@pytest.fixture
def changed(unpack: Callable[[str], Path], tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Copies a preset whose config of a part has other fields."""

    def copy(name: str, file: str, **fields: Any) -> Path:
        path = tmp_path / name
        shutil.copytree(unpack(name), path)
        values = json.loads((path / file).read_text())
        values["config"] |= fields
        values |= {one: fields[one] for one in ("class_name",) if one in fields}
        (path / file).write_text(json.dumps(values))
        return path

    yield copy


QUANTIZED = {"class_name": "DTypePolicyMap"}


@pytest.mark.parametrize(
    ("name", "file", "fields", "message"),
    [
        (
            "bert_classes",
            "config.json",
            {"class_name": "WhisperBackbone"},
            r"WhisperBackbone: of keras-hub",
        ),
        ("bert_classes", "config.json", {"window": 3}, r"config.json: config has window: 3, a fi"),
        ("bert_classes", "config.json", {"dtype": QUANTIZED}, r"is quantized"),
        ("bert_classes", "config.json", {"num_heads": "2"}, r"num_heads must be an integer"),
        ("bert_classes", "config.json", {"num_layers": 1}, r"holds layers/transformer_encoder_1/"),
        (
            "bert_classes",
            "config.json",
            {"num_layers": 10**9},
            r"lacks the weight layers/transformer_encoder_2/.*fields of config.json has",
        ),
        (
            "bert_classes",
            "task.json",
            {"class_name": "BertTagger"},
            r"BertTagger: of a BertBackbone, tas",
        ),
        ("bert_classes", "task.json", {"activation": "relu"}, r"3 classes and activation: 'relu'"),
        (
            "bert_classes",
            "tokenizer.json",
            {"split": False},
            r"tokenizer.json: config has split: False",
        ),
        ("xlm_roberta", "tokenizer.json", {"add_bos": True}, r"has add_bos: True, and only False"),
        (
            "mistral",
            "tokenizer.json",
            {"class_name": "MistralTekkenTokenizer"},
            r"of a MistralTekkenTokenizer, and only MistralTokenizer is supported",
        ),
        ("t5", "config.json", {"activation": "tanh"}, r"activation: 'tanh', and only relu, silu"),
    ],
)
def test_what_is_unknown_is_named_with_its_file(
    changed: Callable[..., Path], name: str, file: str, fields: dict[str, Any], message: str
) -> None:
    path = changed(name, file, **fields)
    with pytest.raises(ImportRefusedError, match=message) as raised:
        read_pretrained(path)
    assert str(path) in str(raised.value)


def test_functions_of_their_own_are_read_as_they_are_saved(changed: Callable[..., Path]) -> None:
    named = {"class_name": "function", "config": "keras_hub>gelu_approximate"}
    path = changed("t5", "config.json", activation=named)
    assert read_pretrained(path).config.activation == "gelu_tanh"


@pytest.mark.parametrize("name", ["gpt2", "llama3", "qwen"])
def test_byte_level_vocabularies_join_across_words(name: str, read: Callable[[str], Read]) -> None:
    tokenizer = read(name).tokenizer
    assert tokenizer.pieces(tokenizer.encode(["d'se"])[0]) == ["d", "'", "se"]


@pytest.mark.parametrize(
    "file", ["tokenizer.json", "model.weights.h5", "assets/tokenizer/vocabulary.txt"]
)
def test_a_file_that_is_missing_is_named(changed: Callable[..., Path], file: str) -> None:
    path = changed("bert_classes", "config.json")
    (path / file).unlink()
    with pytest.raises(ImportRefusedError, match=file.rpartition("/")[2].partition(".")[0]):
        read_pretrained(path)
