"""Heads of Hugging Face's models: one that must be the matrix of the embeddings is read if it is,
and refused if not; so is one that is trained for what no head of ours does.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_transformer.export import export_pretrained
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import from_pretrained, read_pretrained
from keras_transformer.training.transfer.import_run import import_run

FIXTURES = Path(__file__).parents[2] / "fixtures"
# A directory, its head, and the matrix of its embeddings.
MASKED = [
    ("bert", "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
    ("roberta", "lm_head.decoder.weight", "roberta.embeddings.word_embeddings.weight"),
    ("distilbert", "vocab_projector.weight", "distilbert.embeddings.word_embeddings.weight"),
    ("albert", "predictions.decoder.weight", "albert.embeddings.word_embeddings.weight"),
]
GPT2 = ("gpt2", "lm_head.weight", "transformer.wte.weight")
LLAMA = ("llama", "lm_head.weight", "model.embed_tokens.weight")
Tensors = dict[str, np.ndarray]


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """`changed(name, change, **fields)`: a directory with other tensors and fields."""

    def make(
        name: str, change: Callable[[Tensors], Tensors] = lambda tensors: {}, **fields: Any
    ) -> Path:
        room = "translators" if (FIXTURES / "translators" / name).is_dir() else "stacks"
        path = Path(shutil.copytree(FIXTURES / room / name, tmp_path / name))
        file, config = path / "model.safetensors", path / "config.json"
        tensors = load_file(file)
        save_file({**tensors, **change(tensors)}, file)
        values = json.loads(config.read_text(encoding="utf-8"))
        config.write_text(json.dumps({**values, **fields}), encoding="utf-8")
        return path

    return make


def equal(head: str, embeddings: str) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {head: tensors[embeddings].copy()}


def other(head: str, embeddings: str) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {head: tensors[embeddings] + 1}


@pytest.mark.parametrize(("name", "head", "embeddings"), [*MASKED, GPT2])
def test_a_tied_head_is_read_from_the_embeddings(
    name: str, head: str, embeddings: str, changed: Callable[..., Path]
) -> None:
    model, *_ = from_pretrained(changed(name, equal(head, embeddings)))
    assert getattr(model.config, "tied_head", True)


@pytest.mark.parametrize(("name", "head", "embeddings"), [*MASKED, GPT2])
@pytest.mark.parametrize("is_tied", [True, False])
def test_a_head_of_its_own_is_refused(
    name: str, head: str, embeddings: str, is_tied: bool, changed: Callable[..., Path]
) -> None:
    path = changed(name, other(head, embeddings), tie_word_embeddings=is_tied)
    with pytest.raises(ImportRefusedError, match=r"which differs|that differs|tie_word_embeddings"):
        read_pretrained(path)


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert"])
def test_a_head_of_its_own_that_the_file_lacks_is_refused(
    name: str, changed: Callable[..., Path]
) -> None:
    with pytest.raises(ImportRefusedError, match="tie_word_embeddings: False, and only True"):
        read_pretrained(changed(name, tie_word_embeddings=False))


def test_what_an_albert_was_also_pretrained_with_is_left_out(changed: Callable[..., Path]) -> None:
    """Such as albert-base-v2's, whose config names one of the two heads in its file."""

    def two(tensors: Tensors) -> Tensors:
        square, row = np.ones((16, 16), np.float32), np.ones(16, np.float32)
        pooler = {"albert.pooler.weight": square, "albert.pooler.bias": row}
        return {**pooler, "sop_classifier.classifier.weight": square[:2].copy()}

    model, *_ = from_pretrained(changed("albert", two))
    assert (model.config.head, model.config.keep_pooler) == ("masked_lm", True)
    np.testing.assert_array_equal(np.asarray(model.pooler.linear.kernel), np.ones((16, 16)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"architectures": ["AlbertForPreTraining"]}, "whether two texts were swapped: .* write"),
        ({"num_hidden_groups": 3}, "num_hidden_layers: 4 and num_hidden_groups: 3, and only gro"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type: 'relative_key'"),
        ({"inner_group_num": 2}, "lacks the tensor .*albert_layers.1"),
        ({"num_hidden_groups": 0}, "num_hidden_groups.*at least 1"),
        ({"inner_group_num": 0}, "inner_group_num.*at least 1"),
    ],
)
def test_an_albert_of_another_form_is_refused(
    fields: dict[str, Any], message: str, changed: Callable[..., Path]
) -> None:
    with pytest.raises(ImportRefusedError, match=message):
        from_pretrained(changed("albert", **fields))


def test_a_second_bias_must_be_the_first(changed: Callable[..., Path]) -> None:
    names = ("cls.predictions.decoder.bias", "cls.predictions.bias")
    with pytest.raises(ImportRefusedError, match="decoder.bias, which differs from cls"):
        read_pretrained(changed("bert", other(*names)))


@pytest.mark.parametrize(
    ("is_tied", "change", "expected"),
    [
        (True, equal(*LLAMA[1:]), True),
        # Transformers does not tie what differs, whatever the config says.
        (True, other(*LLAMA[1:]), False),
        (False, equal(*LLAMA[1:]), False),
    ],
)
def test_a_llama_s_head_is_the_embeddings_if_it_is_tied_and_equal(
    is_tied: bool,
    change: Callable[[Tensors], Tensors],
    expected: bool,
    changed: Callable[..., Path],
) -> None:
    model, *_ = from_pretrained(changed("llama", change, tie_word_embeddings=is_tied))
    assert model.config.tied_head is expected


def test_a_llama_without_its_head_is_refused(changed: Callable[..., Path]) -> None:
    path = changed("llama")
    file = path / "model.safetensors"
    save_file(
        {name: one for name, one in load_file(file).items() if name != "lm_head.weight"}, file
    )
    with pytest.raises(ImportRefusedError, match="lacks the tensor lm_head.weight"):
        from_pretrained(path)


@pytest.mark.parametrize("name", ["model.shared.weight", "lm_head.weight"])
def test_a_translator_s_matrices_must_be_one(name: str, changed: Callable[..., Path]) -> None:
    def two(tensors: Tensors) -> Tensors:
        [matrix] = [one for key, one in tensors.items() if key == "model.shared.weight"]
        return {name: matrix + 1, "model.encoder.embed_tokens.weight": matrix}

    with pytest.raises(ImportRefusedError, match="which differ: only a model whose embeddings"):
        read_pretrained(changed("bart", two))


def test_roberta_s_masked_head_has_an_activation_of_its_own(changed: Callable[..., Path]) -> None:
    with pytest.raises(ImportRefusedError, match="hidden_act: 'relu', and only 'gelu'"):
        read_pretrained(changed("roberta", hidden_act="relu"))


@pytest.mark.parametrize("name", ["bert_classes", "roberta_classes"])
@pytest.mark.parametrize("problem", ["regression", "ranking", 3])
def test_a_classifier_of_another_problem_is_refused(
    name: str, problem: Any, changed: Callable[..., Path]
) -> None:
    with pytest.raises(ImportRefusedError, match=f"problem_type: {problem!r} and . labels, and on"):
        read_pretrained(changed(name, problem_type=problem))


@pytest.mark.parametrize("name", ["bert_classes", "distilbert_classes", "mpnet_classes"])
def test_labels_that_exclude_nothing_are_read_and_written(
    name: str, changed: Callable[..., Path], tmp_path: Path
) -> None:
    path = changed(name, problem_type="multi_label_classification")
    model, tokenizer, _ = from_pretrained(path)
    assert (model.config.head, model.config.multi_label) == ("classification", True)
    out = export_pretrained(model, tmp_path / "out", format="huggingface", tokenizer=tokenizer)
    written = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert written["problem_type"] == "multi_label_classification"
    assert read_pretrained(out).config == model.config


@pytest.mark.parametrize("problem", [None, "single_label_classification"])
def test_a_classifier_is_read(problem: str | None, changed: Callable[..., Path]) -> None:
    read = read_pretrained(changed("bert_classes", problem_type=problem))
    assert read.config.head == "classification"  # type: ignore[union-attr]


@pytest.mark.parametrize("problem", [None, "regression", "multi_label_classification"])
def test_one_output_is_a_regression(problem: str | None, changed: Callable[..., Path]) -> None:
    def first(tensors: Tensors) -> Tensors:
        return {name: tensors[name][:1] for name in ("classifier.weight", "classifier.bias")}

    path = changed("bert_classes", first, id2label={"0": "LABEL_0"}, problem_type=problem)
    model, *_ = from_pretrained(path)
    if problem == "multi_label_classification":
        assert (model.config.multi_label, model.config.labels) == (True, ("LABEL_0",))
    else:
        assert model.config.head == "regression"


def next_sentences(tensors: Tensors) -> Tensors:
    """As bert-base-uncased, whose config names the head for masked tokens alone."""
    width = tensors["bert.embeddings.LayerNorm.weight"].shape[0]
    random = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {
        "bert.pooler.dense.weight": (width, width),
        "bert.pooler.dense.bias": (width,),
        "cls.seq_relationship.weight": (2, width),
        "cls.seq_relationship.bias": (2,),
    }
    return {name: random.normal(size=one).astype(np.float32) for name, one in shapes.items()}


def test_a_head_that_the_config_does_not_name_is_kept(
    changed: Callable[..., Path], tmp_path: Path
) -> None:
    path = changed("bert", next_sentences)
    model, tokenizer, _ = from_pretrained(path)
    assert model.config.head == "pretraining"
    out = export_pretrained(model, tmp_path / "out", format="huggingface", tokenizer=tokenizer)
    theirs, ours = (load_file(one / "model.safetensors") for one in (path, out))
    assert {name: one.tobytes() for name, one in ours.items()} == {
        name: one.tobytes() for name, one in theirs.items()
    }


def without_pooler(tensors: Tensors) -> Tensors:
    return {
        name: one for name, one in next_sentences(tensors).items() if name.startswith("cls.seq")
    }


def second_pooler(tensors: Tensors) -> Tensors:
    names = ("roberta.pooler.dense.weight", "roberta.pooler.dense.bias")
    return {name: np.ones((16,) * (2 - place), np.float32) for place, name in enumerate(names)}


def unread_bias(tensors: Tensors) -> Tensors:
    own = "decoder.block.0.layer.{}.relative_attention_bias.weight"
    return {own.format("1.EncDecAttention"): tensors[own.format("0.SelfAttention")] + 1}


@pytest.mark.parametrize(
    ("name", "change", "names"),
    [
        pytest.param(
            "bert",
            without_pooler,
            ["cls.seq_relationship.bias", "cls.seq_relationship.weight"],
            marks=pytest.mark.exhaustive,
        ),
        (
            "roberta_classes",
            second_pooler,
            ["roberta.pooler.dense.bias", "roberta.pooler.dense.weight"],
        ),
        (
            "t5",
            unread_bias,
            ["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"],
        ),
        pytest.param("bert", next_sentences, [], marks=pytest.mark.exhaustive),
        pytest.param("bert", equal(*MASKED[0][1:]), [], marks=pytest.mark.exhaustive),
    ],
)
def test_weights_that_no_part_reads_are_named_and_come_back(
    name: str,
    change: Callable[[Tensors], Tensors],
    names: list[str],
    changed: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = changed(name, change)
    import_run(path, tmp_path / "run")
    told = (
        f"{path}: no part of the model reads these weights, which are kept for "
        f"`export --format huggingface`: {', '.join(names)}\n"
    )
    assert capsys.readouterr().out == (told if names else "")
    out = export_pretrained(tmp_path / "run", tmp_path / "out", format="huggingface")
    theirs, ours = (load_file(one / "model.safetensors") for one in (path, out))
    for one in names:
        assert ours[one].tobytes() == theirs[one].tobytes()
    # A model without such weights leaves none of those of the one before it behind.
    shutil.rmtree(path)
    import_run(changed(name), tmp_path / "run", overwrite=True)
    assert not (tmp_path / "run" / "unused_weights.npz").exists()
