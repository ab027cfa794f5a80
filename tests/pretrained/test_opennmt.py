"""OpenNMT-tf's directories: which checkpoint is read, what the description says without being run,
and what is refused.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import read_pretrained

CATALOG = 'from opennmt import models\nmodel = lambda: models.get_model_from_catalog("{}")\n'


@pytest.fixture
def copied(translators: Path, tmp_path: Path) -> Path:
    """A directory to change."""
    return Path(shutil.copytree(translators / "opennmt", tmp_path / "opennmt"))


def heads(path: Path) -> int:
    return read_pretrained(path).config.num_heads


@pytest.mark.parametrize(
    ("name", "norm", "sharing"),
    [("opennmt", "pre", "none"), ("opennmt_post_norm", "post", "all")],
)
def test_norms_and_shared_matrices_are_told_by_the_weights(
    name: str, norm: str, sharing: str, translators: Path
) -> None:
    imported = read_pretrained(translators / name)
    config = imported.config
    assert imported.format == "opennmt-tf"
    assert (config.norm, config.share_embeddings) == (norm, sharing)  # type: ignore[union-attr]
    assert config.source_ends == ()  # type: ignore[union-attr]


def test_the_unknown_token_has_the_id_behind_the_vocabulary(translators: Path) -> None:
    path = translators / "opennmt"
    tokens = (path / "vocabulary.txt").read_text(encoding="utf-8").splitlines()
    [source, _] = read_pretrained(path).tokenizers
    assert source.special_ids.unk == len(tokens)
    assert source.vocab_size == len(tokens) + 1


def test_the_newest_of_several_checkpoints_is_read(copied: Path) -> None:
    for file in copied.glob("ckpt-7.*"):
        shutil.copy(file, copied / file.name.replace("ckpt-7", "ckpt-6"))
    assert read_pretrained(copied).tensors.origin == str(copied / "ckpt-7")
    (copied / "checkpoint").unlink()
    with pytest.raises(ImportRefusedError, match=r"several checkpoints \(ckpt-6, ckpt-7\)"):
        read_pretrained(copied)


def test_a_description_is_read_and_never_run(copied: Path) -> None:
    file = copied / "model_description.py"
    file.write_text(f"raise SystemExit\n{CATALOG.format('TransformerTiny')}")
    assert heads(copied) == 2
    file.write_text("class Own(Transformer):\n    def __init__(self):\n        f(num_heads=4)\n")
    assert heads(copied) == 4
    file.write_text("model = lambda: Transformer(ffn_activation=tf.nn.gelu, num_units=16)")
    assert read_pretrained(copied).config.activation == "gelu_tanh"


@pytest.mark.parametrize(
    "text",
    [
        CATALOG.format("LuongAttention"),
        "model = lambda: Transformer(num_heads=heads)",
        "model = lambda: Transformer(ffn_activation=tf.nn.elu)",
    ],
)
def test_another_description_is_named(text: str, copied: Path) -> None:
    (copied / "model_description.py").write_text(text)
    with pytest.raises(ImportRefusedError, match=r"model_description.py must name a Transformer"):
        read_pretrained(copied)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("model_description.py", "model_description.py is missing: it says how many heads"),
        ("vocabulary.txt", "vocabulary.txt is missing: put the vocabularies there"),
        ("data.yml", "source_vocabulary.txt is missing: put the vocabularies there"),
        ("sentencepiece.model", "no SentencePiece model of the source: put it there as source.spm"),
    ],
)
def test_what_is_missing_is_named(missing: str, message: str, copied: Path) -> None:
    (copied / missing).unlink()
    with pytest.raises(ImportRefusedError, match=message):
        read_pretrained(copied)


def test_a_vocabulary_of_another_kind_is_named(copied: Path) -> None:
    (copied / "vocabulary.txt").write_text("<unk>\n<s>\n</s>\na\n")
    with pytest.raises(ImportRefusedError, match=r"beginning with <blank>, <s> and </s>"):
        read_pretrained(copied)


def test_another_vocabulary_s_size_is_named(copied: Path) -> None:
    with (copied / "vocabulary.txt").open("a", encoding="utf-8") as file:
        file.write("further\n")
    with pytest.raises(ImportRefusedError, match="config and weights are of different models"):
        read_pretrained(copied).build()


@pytest.mark.parametrize("kept", [0, 5000])
def test_truncated_weights_are_named(kept: int, copied: Path) -> None:
    [file] = copied.glob("*.data-*")
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(ImportRefusedError, match=r"ckpt-7: .* cannot be read"):
        read_pretrained(copied).build()


def test_another_checkpoint_is_named(tmp_path: Path) -> None:
    import tensorflow as tf

    tf.train.Checkpoint(weight=tf.Variable(np.zeros(3))).write(str(tmp_path / "ckpt-1"))
    with pytest.raises(ImportRefusedError, match="no checkpoint of one of OpenNMT-tf 2's"):
        read_pretrained(tmp_path)
