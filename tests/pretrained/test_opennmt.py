"""OpenNMT-tf's directories: which checkpoint is read, what the description says without being run,
and what is refused.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import Translator, from_pretrained
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.formats import opennmt
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.pretrained.tensor_files import open_tensorflow as tensors_of

VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
SOURCE, TARGET = (
    f"model/examples_inputter/{name}_inputter/embedding{VALUE}" for name in ("features", "labels")
)
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
        ("model_description.py", "model_description.py is missing. It must say how many heads"),
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
    with pytest.raises(
        ImportRefusedError, match="tokens beside the unknown one: they are of different"
    ):
        read_pretrained(copied)


class Widened(dict[str, np.ndarray]):
    """The tensors of a checkpoint whose one side has more tokens, which it hardly ever writes."""

    def __init__(self, tensors: Any, side: str) -> None:
        super().__init__(tensors)
        self.origin = tensors.origin
        further = np.random.default_rng(0).standard_normal((3, tensors[SOURCE].shape[1]))
        if side == "source":
            self._insert(SOURCE, further)
            return
        self._insert(TARGET, further)
        self._insert(f"model/decoder/output_layer/kernel{VALUE}", further.T, axis=1)
        self._insert(f"model/decoder/output_layer/bias{VALUE}", np.full(3, -60.0))

    def _insert(self, name: str, values: np.ndarray, axis: int = 0) -> None:
        before_unknown = self[name].shape[axis] - 1
        front, unknown = np.split(self[name], [before_unknown], axis=axis)
        self[name] = np.concatenate([front, values.astype(np.float32), unknown], axis=axis)


@pytest.mark.parametrize("side", ["source", "target"])
def test_vocabularies_of_different_sizes_are_the_same_model(
    side: str, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenNMT-tf's own results hold of its model with more tokens on one side."""
    monkeypatch.setattr(opennmt, "open_tensorflow", lambda path: Widened(tensors_of(path), side))
    tokens = (copied / "vocabulary.txt").read_text(encoding="utf-8")
    (copied / "more.txt").write_text(f"{tokens}X_1\nX_2\nX_3\n", encoding="utf-8")
    names = {"source": "vocabulary.txt", "target": "vocabulary.txt", side: "more.txt"}
    lines = "".join(f"  {name}_vocabulary: {file}\n" for name, file in names.items())
    (copied / "data.yml").write_text(f"data:\n{lines}")
    reference = json.loads((copied / "reference.json").read_text(encoding="utf-8"))
    model, source, target = from_pretrained(copied)
    unknown = len(tokens.splitlines()) + 3
    assert {one.special_ids.unk for one in (source, target)} == {unknown}
    rows = [
        [unknown if token == unknown - 3 else token for token in row]
        for row in reference["hostile_ids"]
    ]
    assert source.encode(reference["hostile"]) == rows
    translator = Translator(model, source, target)
    found = translator.score(reference["sources"], reference["targets"])
    totals = [one.log_probability for one in found]
    np.testing.assert_allclose(totals, reference["log_probabilities"], atol=1e-4)
    assert all(one.score > -np.inf for one in found)


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
