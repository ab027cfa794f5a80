"""FSMT: each side has a vocabulary, texts are pieces with spaces between them, and the head's
matrix may be that of the target's embeddings.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import from_pretrained, read_pretrained

EMBEDDINGS = "model.decoder.embed_tokens.weight"
HEAD = "model.decoder.output_projection.weight"


@pytest.fixture
def copied(translators: Path, tmp_path: Path) -> Path:
    """A directory to change."""
    return Path(shutil.copytree(translators / "fsmt", tmp_path / "fsmt"))


def change(path: Path, function: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]) -> None:
    file = path / "model.safetensors"
    save_file(function(load_file(file)), file)


def test_the_sides_have_vocabularies_of_their_own(translators: Path) -> None:
    model, source, target = from_pretrained(translators / "fsmt")
    assert source.vocab_size == model.config.source_vocab_size  # type: ignore[union-attr]
    assert target.vocab_size == model.config.target_vocab_size  # type: ignore[union-attr]
    assert source.vocab_size != target.vocab_size
    [pieces] = json.loads((translators / "fsmt" / "reference.json").read_text())["targets"][:1]
    assert target.decode(target.encode([pieces])) == [pieces]


@pytest.mark.parametrize("kept", [(EMBEDDINGS, HEAD), (EMBEDDINGS,), (HEAD,)])
def test_a_tied_head_is_found_whatever_its_name(copied: Path, kept: tuple[str, ...]) -> None:
    assert read_pretrained(copied).config.share_embeddings == "none"  # type: ignore[union-attr]

    def tie(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        matrix = tensors[EMBEDDINGS]
        others = {name: one for name, one in tensors.items() if name not in (EMBEDDINGS, HEAD)}
        return {**others, **{name: matrix.copy() for name in kept}}

    expected = load_file(copied / "model.safetensors")[EMBEDDINGS]
    change(copied, tie)
    imported = read_pretrained(copied)
    assert imported.config.share_embeddings == "target"  # type: ignore[union-attr]
    embeddings = imported.build().target_embeddings  # type: ignore[union-attr]
    np.testing.assert_array_equal(embeddings.tokens.matrix, expected)


def test_a_missing_vocabulary_is_named(copied: Path) -> None:
    (copied / "vocab-tgt.json").unlink()
    with pytest.raises(ImportRefusedError, match=r"vocab-tgt.json is missing"):
        read_pretrained(copied)


def test_a_vocabulary_of_another_model_is_named(copied: Path) -> None:
    (copied / "vocab-src.json").write_text('{"<s>": 0, "<pad>": 3, "</s>": 2, "<unk>": 1}')
    with pytest.raises(ImportRefusedError, match="pad_token_id: 1, but vocab-src.json gives it"):
        read_pretrained(copied)
    (copied / "vocab-src.json").write_text('{"<s>": 0, "<pad>": 1, "</s>": 2}')
    with pytest.raises(ImportRefusedError, match="vocab-src.json has no piece '<unk>'"):
        read_pretrained(copied)
