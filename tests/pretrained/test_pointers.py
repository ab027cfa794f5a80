"""What `git clone` leaves of large files without Git LFS is told apart from damaged files."""

import shutil
from pathlib import Path

import pytest

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import from_pretrained

FIXTURES = Path(__file__).parents[1] / "fixtures"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 135\n"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("stacks/bert", "model.safetensors"),
        ("stacks/bert", "tokenizer.json"),
        ("stacks/llama_sentencepiece", "tokenizer.model"),
        ("translators/t5", "spiece.model"),
        ("translators/marian", "model.npz"),
        ("translators/marian_tagged", "source.spm"),
        ("translators/marian_huggingface", "target.spm"),
    ],
)
def test_a_pointer_is_named_with_the_way_out(name: str, file: str, tmp_path: Path) -> None:
    path = Path(shutil.copytree(FIXTURES / name, tmp_path / "model"))
    (path / file).write_text(POINTER)
    with pytest.raises(ImportRefusedError, match=rf"{file} is a pointer of Git LFS.*git lfs pull"):
        from_pretrained(path)


def test_pointers_that_nobody_reads_do_no_harm(tmp_path: Path) -> None:
    path = Path(shutil.copytree(FIXTURES / "stacks" / "bert", tmp_path / "model"))
    (path / "tf_model.h5").write_text(POINTER)
    (path / "pytorch_model.bin").write_text(POINTER)
    from_pretrained(path)


@pytest.mark.parametrize("file", ["model.bin", "pytorch_model.bin"])
def test_a_pointer_in_place_of_weights_is_named(file: str, tmp_path: Path) -> None:
    path = Path(shutil.copytree(FIXTURES / "stacks" / "bert", tmp_path / "model"))
    (path / "model.safetensors").unlink()
    (path / file).write_text(POINTER)
    with pytest.raises(ImportRefusedError, match=f"{file} is a pointer of Git LFS"):
        from_pretrained(path)
