"""What happens to an artefact's files after it was opened changes nothing, and what happened before
is told: the files, and the manifest's own fields."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.export import Manifest, OnnxTranslator
from keras_transformer.runtime.encoder import OnnxEncoder
from keras_transformer.runtime.generator import OnnxGenerator


def write_over(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.write(os.urandom(file.stat().st_size))


def cut(file: Path) -> None:
    os.truncate(file, 3)


def put_in_place(file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(os.urandom(file.stat().st_size))
    other.rename(file)


CHANGES = (write_over, cut, Path.unlink, put_in_place)


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    return lambda path: Path(shutil.copytree(path, tmp_path / "copy"))


def answers(translator: OnnxTranslator, texts: list[str]) -> list[Any]:
    """What all graphs say, those that are opened only when they are first needed included."""
    return [
        translator.translate(texts, max_length=9),
        translator.translate(texts, beam_size=2, max_length=9),
        [one.score for row in translator.translate_n_best(texts, max_length=9) for one in row],
        [one.log_probability for one in translator.score(texts, texts)],
        translator.translate(texts, target_prefixes=["hello", "a"], max_length=9),
    ]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("target", ["onnxruntime", "native"])
def test_files_that_change_under_a_translator_change_no_answer(
    exported_fastest: Any, copied: Any, texts: list[str], target: str, change: Any
) -> None:
    copy = copied(exported_fastest.path)
    with (
        OnnxTranslator(exported_fastest.path, threads=1, target=target) as expected,
        OnnxTranslator(copy, threads=1, target=target) as translator,
    ):
        for file in list(copy.iterdir()):
            change(file)
        assert answers(translator, texts[:2]) == answers(expected, texts[:2])


def test_files_that_change_under_the_other_families_change_no_answer(
    export_small: Any, copied: Any, texts: list[str]
) -> None:
    for family, opened in (("encoder", OnnxEncoder), ("decoder", OnnxGenerator)):
        path = export_small(family).path
        copy = copied(path)
        with opened(path, threads=1) as expected, opened(copy, threads=1) as model:
            for file in list(copy.iterdir()):
                cut(file)
            if family == "encoder":
                assert (model.states(texts)[0] == expected.states(texts)[0]).all()
            else:
                assert model.generate(texts, max_length=4) == expected.generate(texts, max_length=4)
                assert model.score(texts) == expected.score(texts)
        shutil.rmtree(copy)


def test_mapped_weights_give_the_same_answers(
    exported_fastest: Any, copied: Any, texts: list[str]
) -> None:
    copy = copied(exported_fastest.path)
    with (
        OnnxTranslator(exported_fastest.path, threads=1) as expected,
        OnnxTranslator(copy, threads=1, mmap=True) as translator,
    ):
        for file in list(copy.iterdir()):
            put_in_place(file)  # The mapping keeps the file that it was made of.
        assert answers(translator, texts[:2]) == answers(expected, texts[:2])


def test_files_are_read_and_hashed_once(exported_fastest: Any, tmp_path: Path) -> None:
    manifest = Manifest.read(exported_fastest.path)
    files = ArtefactFiles(shutil.copytree(exported_fastest.path, tmp_path / "copy"))
    files.read_all(manifest)
    shutil.rmtree(tmp_path / "copy")
    assert files.weights(manifest.weights) is files.weights(manifest.weights)
    assert not files.weights(manifest.weights).ctypes.data % 64
    assert files.content(manifest.graphs["greedy"]).startswith(b"\x08")


@pytest.mark.parametrize("mmap", [False, True])
def test_weights_that_are_empty_or_of_another_export_are_refused(
    exported_fastest: Any, exported: Any, copied: Any, mmap: bool
) -> None:
    copy = copied(exported_fastest.path)
    for data in (b"", (exported.path / "weights.bin").read_bytes()):
        (copy / "weights.bin").write_bytes(data)
        with pytest.raises(ValueError, match=r"weights.bin has SHA-256 .* copy or export"):
            OnnxTranslator(copy, mmap=mmap)


def edit(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the manifest, and leaves its hash of itself."""
    values = json.loads((directory / "manifest.json").read_text())
    change(values)
    (directory / "manifest.json").write_text(json.dumps(values))


def swap(entries: dict[str, Any]) -> None:
    entries["greedy"], entries["decoder"] = entries["decoder"], entries["greedy"]


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.update(training_text={"longest_source": 1, "sentences": [1]}),
        lambda values: values.update(min_score=-0.5),
        lambda values: values["config"].update(scale_attention=False),
        lambda values: values["special_ids"].update(eos=4),
        lambda values: values.update(unknown="field"),
        lambda values: values.pop("search"),
        lambda values: swap(values["graphs"]),
        lambda values: swap(values["native"]["graphs"]),
    ],
)
def test_a_manifest_with_an_edited_field_is_refused(
    exported_fastest: Any, copied: Any, change: Callable[[dict[str, Any]], object]
) -> None:
    copy = copied(exported_fastest.path)
    edit(copy, change)
    with pytest.raises(ValueError, match="manifest.json: its fields have SHA-256 .* was changed"):
        OnnxTranslator(copy)


def test_a_manifest_may_be_laid_out_anew_or_be_an_earlier_one_without_a_hash(
    exported_fastest: Any, copied: Any
) -> None:
    copy, expected = copied(exported_fastest.path), Manifest.read(exported_fastest.path)
    edit(copy, lambda values: values.update(dict(sorted(values.items()))))
    assert Manifest.read(copy) == expected
    edit(copy, lambda values: values.pop("sha256"))
    assert Manifest.read(copy) == expected


@pytest.mark.parametrize("prefix", ["", "native_"])
def test_graphs_that_are_exchanged_are_refused(
    exported_fastest: Any, copied: Any, prefix: str
) -> None:
    copy = copied(exported_fastest.path)
    first, second = copy / f"{prefix}greedy.onnx", copy / f"{prefix}greedy_scores.onnx"
    first.rename(copy / "kept")
    second.rename(first)
    (copy / "kept").rename(second)
    with pytest.raises(ValueError, match=f"{prefix}greedy.*onnx has SHA-256"):
        OnnxTranslator(copy)
