"""XLNets of Hugging Face, read: ids, both streams and classes are theirs, whichever side is padded;
and so are those of what is exported.
"""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import OnnxEncoder, TextEncoder, from_pretrained
from keras_transformer.data.sources.texts import LabelledTexts
from keras_transformer.export import export_onnx, export_saved_model
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.text.layout import encoder_row
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.tasks import KINDS

FOLDER = Path(__file__).parents[3] / "fixtures" / "xlnets"


class Read(NamedTuple):
    """A directory that was read, and its references."""

    model: Any
    tokenizer: Any
    reference: dict[str, Any]


def read(name: str) -> Read:
    model, tokenizer, _ = from_pretrained(FOLDER / name)
    return Read(model, tokenizer, json.loads((FOLDER / name / "reference.json").read_text()))


@pytest.fixture(scope="module")
def language_model() -> Read:
    return read("xlnet")


@pytest.fixture(scope="module")
def classes() -> Read:
    return read("xlnet_classes")


def test_ids_are_theirs_and_rows_end_with_sep_and_cls(language_model: Read) -> None:
    _, tokenizer, reference = language_model
    rows = [
        encoder_row(row, None, tokenizer.special_ids)
        for row in tokenizer.encode(reference["texts"])
    ]
    assert [row for row, _ in rows] == reference["ids"]
    assert all(types == [0] * (len(row) - 1) + [2] for row, types in rows)
    assert tokenizer.encode(reference["hostile"]) == reference["hostile_ids"]


def test_both_streams_are_theirs(language_model: Read) -> None:
    model, _, reference = language_model
    asked = model.training_states()
    for row, theirs in zip(reference["ids"], reference["streams"], strict=False):
        places, order = theirs["order"], np.zeros((1, len(row)), np.int32)
        order[0, places] = np.arange(1, len(places) + 1)
        types = np.array([[0] * (len(row) - 1) + [2]], np.int32)
        inputs = {"token_ids": np.array([row], np.int32), "token_type_ids": types}
        np.testing.assert_allclose(model.encoder(inputs)[0], theirs["content"], atol=1e-4)
        inputs |= {"order": order, "places": np.array([places], np.int32)}
        states = np.asarray(asked(inputs), np.float64)[0]
        logits = states @ np.asarray(model.output_matrix, np.float64).T
        found = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        np.testing.assert_allclose(found, theirs["query"], atol=1e-4)


def probabilities(logits: Any) -> np.ndarray:
    wide = np.exp(np.asarray(logits, np.float64))
    return wide / wide.sum(axis=1, keepdims=True)


def check(encoder: Any, reference: dict[str, Any]) -> None:
    """Compares classes of texts and of pairs, in batches, with theirs."""
    alone = encoder.classify(reference["texts"])
    both = encoder.classify(*zip(*reference["pairs"], strict=True))
    for found, logits in ((alone, reference["logits"]), (both, reference["pair_logits"])):
        shares = [one.probabilities for one in found]
        np.testing.assert_allclose(shares, probabilities(logits), atol=2e-5)


def test_classes_of_texts_and_pairs_are_theirs(classes: Read) -> None:
    check(TextEncoder(classes.model, classes.tokenizer), classes.reference)


@pytest.mark.parametrize(
    "target",
    ["onnxruntime", "native", pytest.param("portable", marks=pytest.mark.exhaustive)],
)
def test_exported_classifiers_give_theirs(classes: Read, target: str, tmp_path: Path) -> None:
    model, tokenizer, reference = classes
    export_onnx(model, tokenizer, tmp_path / "model", target=target)
    with OnnxEncoder(tmp_path / "model", threads=1) as encoder:
        check(encoder, reference)


@pytest.mark.exhaustive
def test_a_saved_model_lays_rows_out_as_theirs(classes: Read, tmp_path: Path) -> None:
    model, tokenizer, reference = classes
    path = export_saved_model(model, tmp_path / "model", tokenizer=tokenizer)
    served = tf.saved_model.load(str(path)).signatures
    rows = tokenizer.encode(reference["texts"])
    ids = tf.ragged.constant(rows, dtype=tf.int32).to_tensor(tokenizer.special_ids.pad)
    found = served["classify_ids"](token_ids=ids)["probabilities"]
    np.testing.assert_allclose(found, probabilities(reference["logits"]), atol=2e-5)
    sides = [tokenizer.encode(side) for side in zip(*reference["pairs"], strict=True)]
    first, second = (
        tf.ragged.constant(side, dtype=tf.int32).to_tensor(tokenizer.special_ids.pad)
        for side in sides
    )
    found = served["classify_pairs_ids"](token_ids=first, second_ids=second)["probabilities"]
    np.testing.assert_allclose(found, probabilities(reference["pair_logits"]), atol=2e-5)


def test_a_query_stream_is_not_exported(language_model: Read, tmp_path: Path) -> None:
    model, tokenizer, _ = language_model
    with pytest.raises(ValueError, match="an export holds no query_stream, .* train classify"):
        export_onnx(model, tokenizer, tmp_path / "model")
    with pytest.raises(ValueError, match="an export holds no query_stream"):
        export_saved_model(model, tmp_path / "served", tokenizer=tokenizer)


def test_rows_to_train_on_have_their_ids_and_types(classes: Read) -> None:
    model, tokenizer, reference = classes
    firsts, seconds = zip(*reference["pairs"], strict=True)
    texts = LabelledTexts([model.config.labels[0]] * len(firsts), firsts, seconds, origin="them")
    encoded = KINDS["classify"].encode(texts, tokenizer, model.config, 64, TextOptions())
    assert [encoded.rows[row].tolist() for row in range(len(firsts))] == reference["pair_ids"]
    starts = [row.index(tokenizer.special_ids.eos) + 1 for row in reference["pair_ids"]]
    assert encoded.second_starts.tolist() == starts


def test_padding_on_the_left_changes_nothing(classes: Read) -> None:
    model, tokenizer, reference = classes
    row, types = encoder_row(
        tokenizer.encode(reference["texts"][:1])[0], None, tokenizer.special_ids
    )
    pad = tokenizer.special_ids.pad
    for before, after in ((0, 0), (3, 0), (0, 2)):
        ids = np.array([[pad] * before + row + [pad] * after], np.int32)
        sides = np.array([[0] * before + types + [0] * after], np.int32)
        logits = model({"token_ids": ids, "token_type_ids": sides})
        np.testing.assert_allclose(logits[0], reference["logits"][0], atol=1e-4)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"attn_type": "uni"}, "has attn_type: 'uni', and only 'bi' is supported"),
        ({"summary_type": "mean"}, "has summary_type: 'mean', and only 'last' is supported"),
        (
            {"architectures": ["XLNetForMultipleChoice"]},
            "is of a XLNetForMultipleChoice: of the XLNets, those ending with LMHeadModel",
        ),
    ],
)
def test_what_is_not_supported_is_named(fields: dict, message: str, tmp_path: Path) -> None:
    path = Path(shutil.copytree(FOLDER / "xlnet_classes", tmp_path / "changed"))
    file = path / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))
    with pytest.raises(ImportRefusedError, match=message):
        from_pretrained(path)


def test_clamped_distances_are_read(tmp_path: Path) -> None:
    path = Path(shutil.copytree(FOLDER / "xlnet_classes", tmp_path / "changed"))
    values = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**values, "clamp_len": 8}))
    assert from_pretrained(path)[0].config.farthest_distance == 8


def test_pieces_alone_do_not_say_how_texts_are_read(tmp_path: Path) -> None:
    path = Path(shutil.copytree(FOLDER / "xlnet_classes", tmp_path / "changed"))
    (path / "tokenizer.json").rename(path / "spiece.model")
    with pytest.raises(ImportRefusedError, match="has no tokenizer.json, and spiece.model alone"):
        from_pretrained(path)
