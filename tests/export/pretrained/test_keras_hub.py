"""Presets of keras-hub that were imported leave as the same: weights, configs and ids."""

import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from keras_transformer import from_pretrained, to_keras_hub
from keras_transformer.models.encoder_only import build_encoder
from keras_transformer.pretrained.keras_hub.weights import open_weights
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.training.transfer.import_run import import_run

FOLDER = Path(__file__).parents[2] / "fixtures" / "keras_hub"
NAMES = sorted(path.stem for path in FOLDER.iterdir())
# What says the same in other words, or nothing of the model.
FREE = {"head_dim", "image_size", "sequence_length", "add_start_token"}
PARTS = {"backbone", "tokenizer", "preprocessor"}
# Fields that some classes of keras-hub have no default for.
NEEDED = {"proto", "vocabulary", "vision_encoder"}


def unpacked(name: str, directory: Path) -> Path:
    zipfile.ZipFile(FOLDER / f"{name}.zip").extractall(directory)
    return directory


def fields(file: Path) -> tuple[str, dict[str, object]]:
    values = json.loads(file.read_text())
    config = values["config"]
    lists = {name: sorted(one) for name, one in config.items() if isinstance(one, list)}
    return values["registered_name"], {**config, **lists}


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_leaves_as_it_came(name: str, tmp_path: Path) -> None:
    before, after = unpacked(name, tmp_path / "before"), tmp_path / "after"
    tokenizer = read_pretrained(before).tokenizers[0]
    if name == "deberta_v3":
        # A run alone keeps the table that its distances were made of.
        to_keras_hub(import_run(before, tmp_path / "run"), after)
    else:
        model = from_pretrained(before)[0]
        assert to_keras_hub(model, after, tokenizer=tokenizer) == after
    for file in before.glob("*.weights.h5"):
        theirs, ours = open_weights(file), open_weights(after / file.name)
        # No ELECTRA reads its pooler, which is zero then.
        kept = {one for one in theirs if "optimizer" not in one and (name, one[:14]) != POOLER}
        assert kept <= ours.keys() <= theirs.keys()
        for one in kept:
            # Gemma's norms are stored less 1, and DeBERTa's queries are scaled.
            np.testing.assert_allclose(theirs[one](), ours[one](), rtol=0, atol=1e-7)
    for file in before.glob("*.json"):
        if file.name not in ("metadata.json", "reference.json"):
            (kind, theirs), (found, ours) = fields(file), fields(after / file.name)
            assert kind == found
            assert NEEDED & theirs.keys() <= ours.keys()
            same = (theirs.keys() & ours.keys()) - FREE - PARTS
            assert {one: theirs[one] for one in same} == {one: ours[one] for one in same}
    hostile = json.loads((before / "reference.json").read_text())["hostile"]
    assert read_pretrained(after).tokenizers[0].encode(hostile) == tokenizer.encode(hostile)


POOLER = ("electra", "layers/dense_1")


def test_the_type_of_a_roberta_is_added_to_its_positions(tmp_path: Path) -> None:
    path = tmp_path / "before"
    shutil.copytree(FOLDER.parent / "stacks" / "roberta_classes", path)
    values = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**values, "layer_norm_eps": 1e-5}))
    model, tokenizer, _ = from_pretrained(path)
    again, _, _ = from_pretrained(to_keras_hub(model, tmp_path / "after", tokenizer=tokenizer))
    assert (model.config.num_token_types, again.config.num_token_types) == (1, 0)
    ids = {"token_ids": np.array([[0, 9, 8, 7, 2]])}
    np.testing.assert_allclose(again(ids), model(ids), atol=1e-6)


@pytest.mark.parametrize("activation", ["linear", "sigmoid"])
def test_a_reranker_is_a_classifier_with_one_number(activation: str, tmp_path: Path) -> None:
    imported, tokenizer, _ = from_pretrained(FOLDER.parent / "stacks" / "xlm_roberta_reranker")
    fields = {"layer_norm_epsilon": 1e-5, "value_activation": activation}
    model = build_encoder(replace(imported.config, **fields))
    model.set_weights(imported.get_weights())
    path = to_keras_hub(model, tmp_path / "after", tokenizer=tokenizer)
    task = json.loads((path / "task.json").read_text())["config"]
    assert (task["num_classes"], task["activation"]) == (1, activation)
    again, _, _ = from_pretrained(path)
    ids = {"token_ids": np.array([[0, 9, 2, 2, 8, 7, 2]])}
    np.testing.assert_allclose(again(ids), model(ids), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "bert",
            r"Bert always has hidden_act='gelu_new' \(GELU's tanh form\).* has 'gelu' \(the exact "
            r"GELU\): export it as huggingface or onnx\.$",
        ),
        ("roberta", r"Roberta always has layer_norm_eps=1e-05, .* and this model has 1e-12: expor"),
        ("mistral", r"MistralForCausalLM with a .* kind tokenizer.model, and .* of the kind bytes"),
        (
            "albert",
            r"AlbertForMaskedLM with a .* kind spiece.model, and .* of the kind Unigram: ex",
        ),
        ("gemma3", r"a window in all blocks but each 6th, got layer_types="),
        ("qwen3", r"needs the token '<\|im_end\|>', which the vocabulary lacks"),
        ("electra_classes", r"no ElectraForSequenceClassification.*ElectraBackbone"),
    ],
)
def test_what_no_family_has_is_named(name: str, message: str, tmp_path: Path) -> None:
    model, tokenizer, _ = from_pretrained(FOLDER.parent / "stacks" / name)
    with pytest.raises(ValueError, match=message):
        to_keras_hub(model, tmp_path / "after", tokenizer=tokenizer)
    assert not (tmp_path / "after").exists()


def test_a_deberta_without_its_run_or_trained_since_stays(tmp_path: Path) -> None:
    model, tokenizer, _ = from_pretrained(unpacked("deberta_v3", tmp_path / "before"))
    with pytest.raises(ValueError, match=r"only the run keeps that it was imported to"):
        to_keras_hub(model, tmp_path / "after", tokenizer=tokenizer)
    run = import_run(tmp_path / "before", tmp_path / "run")
    changed = model.encoder_stack.blocks[0].attention.disentangled.distance_keys
    changed.assign(2 * changed)
    model.save(run / "model.keras")
    with pytest.raises(ValueError, match=r"were trained since it was imported"):
        to_keras_hub(run, tmp_path / "after")
