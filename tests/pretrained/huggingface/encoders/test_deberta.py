"""DeBERTa: the `spm.model` that was published, the head of v3, and what is refused by name."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from safetensors.numpy import load_file, save_file

from keras_transformer.export import export_pretrained
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.encoders.deberta import deberta_vocabulary
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.recognise import read_pretrained

STACKS = Path(__file__).parents[3] / "fixtures" / "stacks"
TEXTS = ["A dog runs.", "Two  dogs\u00a0run!", "", " <mask> x [SEP]"]


def changed(path: Path, name: str = "deberta", **fields: Any) -> Path:
    """Copies a directory with other fields of its config; returns the copy."""
    shutil.copytree(STACKS / name, path, dirs_exist_ok=True)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, **fields}))
    return path


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"conv_kernel_size": 3}, r"conv_kernel_size: 3, and only 0 is supported"),
        ({"pos_att_type": ["c2p"]}, r"pos_att_type: \['c2p'\], and only c2p and p2c together"),
        ({"relative_attention": False}, r"relative_attention: False, and only True"),
        ({"position_buckets": -1}, r"position_buckets must be at least 4, is -1"),
        ({"embedding_size": 9}, r"embedding_size: 9, and only 16"),
        ({"position_buckets": 8}, r"rel_embeddings.weight of the shape \(16, 16\), has \(12, 16\)"),
    ],
)
def test_what_is_not_supported_is_named(
    fields: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ImportRefusedError, match=message):
        read_pretrained(changed(tmp_path, **fields)).build()


@pytest.mark.parametrize("value", [None, np.nan])
def test_a_damaged_table_of_distances_is_named(value: float | None, tmp_path: Path) -> None:
    path = changed(tmp_path) / "model.safetensors"
    tensors = load_file(path)
    name = "deberta.encoder.rel_embeddings.weight"
    table = tensors.pop(name)
    if value is not None:
        tensors[name] = np.full_like(table, value)
    save_file(tensors, path)
    with pytest.raises(ImportRefusedError, match=rf"model.safetensors.*{name}.* (none|NaN)"):
        read_pretrained(tmp_path).build()


def test_a_file_of_v3_alone_gives_states_and_keeps_its_head_for_later(tmp_path: Path) -> None:
    """As it was published: no architecture, and what its training used beside the model."""
    path = changed(tmp_path, architectures=None)
    tensors = load_file(path / "model.safetensors")
    tensors["mask_predictions.dense.weight"] = np.ones((2, 2), np.float32)
    save_file(tensors, path / "model.safetensors")
    found = read_pretrained(path)
    assert found.config.head is None and not found.config.pooler
    names = found.names_unused(found.build())
    assert "lm_predictions.lm_head.bias" in names and "mask_predictions.dense.weight" in names


def spm_directory(path: Path, **settings: Any) -> Path:
    """Writes a vocabulary as it was published."""
    named = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a dog runs over two dogs", "a red dog runs x"] * 9),
        model_prefix=str(path / "spm"),
        vocab_size=30,
        minloglevel=2,
        hard_vocab_limit=False,
        **{f"{role}_piece": piece for role, piece in named.items()},
        **{f"{role}_id": number for number, role in enumerate(named)},
    )
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    return path


def test_published_pieces_give_sentencepieces_ids_and_a_mask_behind_them(tmp_path: Path) -> None:
    path = spm_directory(tmp_path, do_lower_case=False)
    pieces = sentencepiece.SentencePieceProcessor(str(path / "spm.model"))
    fields = Fields(path / "config.json", {"vocab_size": len(pieces) + 9})
    tokenizer = deberta_vocabulary(path, fields)
    ids = tokenizer.special_ids
    assert (ids.pad, ids.bos, ids.eos, ids.unk, ids.mask) == (0, 1, 2, 3, len(pieces))
    assert tokenizer.encode(TEXTS[:3]) == pieces.encode(TEXTS[:3])
    assert ids.mask in tokenizer.encode(TEXTS[3:])[0]
    assert tokenizer.vocab_size == len(pieces) + 9


def test_pieces_whose_texts_lose_their_capitals_are_refused(tmp_path: Path) -> None:
    path = spm_directory(tmp_path, do_lower_case=True)
    with pytest.raises(ImportRefusedError, match=r"do_lower_case: true, which spm.model alone"):
        deberta_vocabulary(path, Fields(path / "config.json", {"vocab_size": 50}))


def test_it_leaves_as_no_bert(tmp_path: Path) -> None:
    found = read_pretrained(STACKS / "deberta_classes")
    with pytest.raises(ValueError, match=r"disentangled_buckets"):
        export_pretrained(
            found.build(), tmp_path / "out", format="huggingface", tokenizer=found.tokenizers[0]
        )
