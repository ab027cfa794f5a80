"""Directories of Sentence Transformers: a text's vector is made as they say."""

import itertools
import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_transformer import OnnxEncoder, TextEncoder
from keras_transformer.export import export_onnx, export_pretrained
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import from_pretrained, read_pretrained
from keras_transformer.runs.finished_run import load_run
from keras_transformer.training.transfer.import_run import import_run
from tools.covering import sampled

BERT = Path(__file__).parents[1] / "fixtures" / "stacks" / "bert"
VECTORS = BERT.parents[1] / "sentence_vectors"
KINDS = sorted(path.name for path in VECTORS.iterdir())
TYPES = "sentence_transformers.models."
MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": f"{TYPES}Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{TYPES}Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": f"{TYPES}Normalize"},
]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A `BertModel` without a head, as such directories hold it."""
    path = Path(shutil.copytree(BERT, tmp_path / "bert"))
    tensors = load_file(path / "model.safetensors")
    kept = {name.removeprefix("bert."): one for name, one in tensors.items() if "cls." not in name}
    save_file(kept, path / "model.safetensors")
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    config["architectures"] = ["BertModel"]
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return path


def describe(path: Path, modules: Any = MODULES, **modes: Any) -> Path:
    (path / "modules.json").write_text(json.dumps(modules))
    (path / "1_Pooling").mkdir()
    described = {"word_embedding_dimension": 16, "pooling_mode_max_tokens": False, **modes}
    (path / "1_Pooling" / "config.json").write_text(json.dumps(described))
    return path


@pytest.mark.parametrize(
    ("modes", "pooling"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}, "first"),
        ({"pooling_mode": "cls"}, "first"),
    ],
)
def test_vectors_are_pooled_as_the_directory_says(
    modes: dict[str, Any], pooling: str, bare: Path
) -> None:
    model, tokenizer, _ = from_pretrained(describe(bare, **modes))
    assert (model.config.head, model.config.pooling) == ("embedding", pooling)
    encoder = TextEncoder(model, tokenizer)
    [states], _ = encoder.states(["a small house"])
    expected = states.mean(axis=0) if pooling == "mean" else states[0]
    expected /= np.linalg.norm(expected)
    np.testing.assert_allclose(encoder.embed(["a small house"])[0], expected, rtol=1e-5, atol=1e-6)


def test_the_head_of_pretraining_is_left(bare: Path, tmp_path: Path) -> None:
    """Some of them name the architecture that they were made from, with its weights or without."""
    expected, tokenizer, _ = from_pretrained(describe(bare, pooling_mode="mean"))
    whole = Path(shutil.copytree(BERT, tmp_path / "whole"))
    config = json.loads((whole / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["BertForMaskedLM"]
    (bare / "config.json").write_text(json.dumps(config), encoding="utf-8")
    text = ["a small house"]
    vectors = TextEncoder(expected, tokenizer).embed(text)
    for path in (bare, describe(whole, pooling_mode="mean")):
        model, _, _ = from_pretrained(path)
        assert model.config.head == "embedding"
        np.testing.assert_array_equal(TextEncoder(model, tokenizer).embed(text), vectors)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("mode", "is_unit"), sampled(list(itertools.product(("mean", "cls"), (True, False))))
)
def test_it_leaves_as_it_came(mode: str, is_unit: bool, bare: Path, tmp_path: Path) -> None:
    modules = MODULES if is_unit else MODULES[:2]
    model, tokenizer, _ = from_pretrained(describe(bare, modules, pooling_mode=mode))
    assert model.config.unit_vectors == is_unit
    out = export_pretrained(model, tmp_path / "out", format="huggingface", tokenizer=tokenizer)
    listed = json.loads((out / "modules.json").read_text(encoding="utf-8"))
    assert [one["type"] for one in listed] == [one["type"] for one in modules]
    again, same_tokenizer, _ = from_pretrained(out)
    assert again.config == model.config
    texts = ["a small house", "hello"]
    vectors = (
        TextEncoder(*both).embed(texts) for both in ((model, tokenizer), (again, same_tokenizer))
    )
    np.testing.assert_array_equal(*vectors)


def test_positions_and_pooler_that_no_vector_needs_are_kept(bare: Path, tmp_path: Path) -> None:
    """Others may start from them: a longer limit, a classifier."""
    theirs = load_file(describe(bare, pooling_mode="mean") / "model.safetensors")
    width = theirs["embeddings.LayerNorm.weight"].shape[0]
    random = np.random.default_rng(0)
    theirs["pooler.dense.weight"] = random.normal(size=(width, width)).astype(np.float32)
    theirs["pooler.dense.bias"] = random.normal(size=width).astype(np.float32)
    save_file(theirs, bare / "model.safetensors")
    (bare / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 7}))
    run = import_run(bare, tmp_path / "run")
    model, _, _ = load_run(run)
    assert (model.config.max_row_length, model.config.has_pooler) == (7, True)
    assert not {weight.path for weight in model.trainable_weights if "pooler" in weight.path}
    out = export_pretrained(run, tmp_path / "out", format="huggingface")
    ours = load_file(out / "model.safetensors")
    assert {name: one.tobytes() for name, one in ours.items()} == {
        name: one.tobytes() for name, one in theirs.items()
    }
    read = json.loads((out / "sentence_bert_config.json").read_text(encoding="utf-8"))
    assert read["max_seq_length"] == 7


def test_other_directories_are_encoders_alone(bare: Path) -> None:
    assert read_pretrained(bare).config.head is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("modules", "modes", "message"),
    [
        (MODULES, {"pooling_mode": "sum"}, r"the pooling modes \['sum'\], and of cls_token, "),
        (MODULES, {"pooling_mode": ["cls", "cls_token"]}, "one or several different ones"),
        (MODULES, {}, r"the pooling modes \[\], and of"),
        ([*MODULES, {"path": "3", "type": f"{TYPES}CNN"}], {}, "Normalize, CNN, and Transformer"),
        ([*MODULES, {"path": "3", "type": f"{TYPES}Dense"}], {}, "Normalize, Dense, and Tran"),
        (MODULES[:1], {}, "has the modules Transformer, and"),
        ([], {}, "has the modules none, and"),
        ({}, {}, "holds no list"),
        ([{"type": 3}], {}, "the value of type must be a string, is 3"),
    ],
)
def test_other_vectors_are_refused(
    modules: Any, modes: dict[str, Any], message: str, bare: Path
) -> None:
    with pytest.raises(ImportRefusedError, match=message):
        read_pretrained(describe(bare, modules, **modes))


def test_a_missing_file_is_named(bare: Path) -> None:
    shutil.rmtree(describe(bare, pooling_mode_cls_token=True) / "1_Pooling")
    with pytest.raises(ImportRefusedError, match=r"1_Pooling/config.json is missing"):
        read_pretrained(bare)


@pytest.mark.parametrize(
    ("reading", "tokenizing", "longest"),
    [
        ({"max_seq_length": 7}, {}, 7),
        pytest.param(
            {"max_seq_length": None}, {"model_max_length": 9}, 9, marks=pytest.mark.exhaustive
        ),
        ({"max_seq_length": 900}, {"model_max_length": 9}, None),
        pytest.param({}, {"model_max_length": 10**30}, None, marks=pytest.mark.exhaustive),
    ],
)
def test_texts_are_cut_where_the_directory_says(
    reading: dict[str, Any], tokenizing: dict[str, Any], longest: int | None, bare: Path
) -> None:
    whole, tokenizer, _ = from_pretrained(describe(bare, pooling_mode="mean"))
    (bare / "sentence_bert_config.json").write_text(json.dumps(reading))
    (bare / "tokenizer_config.json").write_text(json.dumps(tokenizing))
    model, _, _ = from_pretrained(bare)
    assert model.config.max_positions == whole.config.max_positions
    assert model.config.max_row_length == longest
    text = "a small house and a large one"
    [ids] = tokenizer.encode([text])
    assert len(ids) > 9
    first = tokenizer.decode([ids[: (longest or 99) - 2]])
    vectors = TextEncoder(model, tokenizer, long_texts="cut").embed([text, *first])
    np.testing.assert_allclose(vectors[0], vectors[1], rtol=1e-5, atol=1e-6)
    [expected] = TextEncoder(whole, tokenizer).embed(first)
    np.testing.assert_allclose(vectors[1], expected, rtol=1e-5, atol=1e-6)


PROMPTS = {"prompts": {"query": "query: ", "none": ""}}


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        (
            "sentence_bert_config.json",
            {"do_lower_case": True},
            "do_lower_case: true, which is not supported",
        ),
        (
            "sentence_bert_config.json",
            {"max_seq_length": "long"},
            "the value of max_seq_length must be an integer, is 'long'",
        ),
        ("sentence_bert_config.json", [], "must hold names and values, is "),
        (
            "config_sentence_transformers.json",
            {**PROMPTS, "default_prompt_name": "passage"},
            "default_prompt must be one of 'query', 'none', got 'passage'",
        ),
        ("config_sentence_transformers.json", {"prompts": ["a"]}, "prompts must be names and val"),
        ("config_sentence_transformers.json", {"prompts": {"a": 1}}, "prompts must be a mapping"),
        (
            "1_Pooling/config.json",
            {"pooling_mode": "mean", "include_prompt": False},
            "include_prompt: false, which is not supported with prompts",
        ),
    ],
)
def test_other_ways_to_read_texts_are_refused(
    file: str, values: Any, message: str, bare: Path
) -> None:
    describe(bare, pooling_mode="mean")
    (bare / "config_sentence_transformers.json").write_text(json.dumps(PROMPTS))
    (bare / file).write_text(json.dumps(values))
    with pytest.raises(ImportRefusedError, match=message):
        read_pretrained(bare)


@pytest.mark.parametrize("chosen", [None, "none"])
def test_prompts_that_nobody_chose_are_none(chosen: str | None, bare: Path) -> None:
    describe(bare, pooling_mode="mean")
    values = {**PROMPTS, "default_prompt_name": chosen}
    (bare / "config_sentence_transformers.json").write_text(json.dumps(values))
    assert read_pretrained(bare).config.head == "embedding"  # type: ignore[union-attr]


class Kind(NamedTuple):
    """A directory that was read, and its references."""

    model: Any
    tokenizer: Any
    texts: list[str]
    vectors: dict[str, Any]

    def check(self, encoder: Any) -> None:
        """Compares vectors with theirs, for each prompt; "" stands for the model's own choice."""
        for name, expected in self.vectors.items():
            found = encoder.embed(self.texts, prompt_name=name or None)
            np.testing.assert_allclose(found, expected, atol=1e-6, rtol=1e-6)


@pytest.fixture(scope="module")
def kind() -> Callable[[str], Kind]:
    """Reads a directory once."""

    @cache
    def read(name: str) -> Kind:
        model, tokenizer, _ = from_pretrained(VECTORS / name)
        reference = json.loads((VECTORS / name / "reference.json").read_text(encoding="utf-8"))
        return Kind(model, tokenizer, reference["texts"], reference["vectors"])

    return read


@pytest.mark.parametrize("name", KINDS)
def test_vectors_are_theirs(name: str, kind: Callable[[str], Kind]) -> None:
    read = kind(name)
    read.check(TextEncoder(read.model, read.tokenizer))


@pytest.mark.parametrize(
    ("target", "name"),
    [
        *sampled([(target, name) for target in ("onnxruntime", "native") for name in KINDS]),
        *(pytest.param("portable", name, marks=pytest.mark.exhaustive) for name in KINDS),
    ],
)
def test_vectors_of_graphs_are_theirs(
    target: str, name: str, kind: Callable[[str], Kind], tmp_path: Path
) -> None:
    read = kind(name)
    export_onnx(read.model, read.tokenizer, tmp_path / "model", target=target)
    with OnnxEncoder(tmp_path / "model", threads=1) as encoder:
        read.check(encoder)


@pytest.mark.parametrize("name", KINDS)
def test_all_of_a_directory_leaves_as_it_came(
    name: str, kind: Callable[[str], Kind], tmp_path: Path
) -> None:
    read = kind(name)
    out = export_pretrained(
        read.model, tmp_path / "out", format="huggingface", tokenizer=read.tokenizer
    )
    for file in sorted((VECTORS / name).rglob("*.safetensors")):
        theirs, ours = load_file(file), load_file(out / file.relative_to(VECTORS / name))
        assert ours.keys() == theirs.keys()
        for tensor in ours:
            np.testing.assert_array_equal(ours[tensor], theirs[tensor])
    model, tokenizer, _ = from_pretrained(out)
    assert model.config == read.model.config
    read._replace(model=model, tokenizer=tokenizer).check(TextEncoder(model, tokenizer))


@pytest.mark.parametrize("name", KINDS)
def test_an_encoder_in_a_folder_of_its_own_is_read(
    name: str, kind: Callable[[str], Kind], tmp_path: Path
) -> None:
    """As that library wrote them at first, with its version in the `config.json` of the whole."""
    path = Path(shutil.copytree(VECTORS / name, tmp_path / "model"))
    (path / "0_Transformer").mkdir()
    for file in [one for one in path.iterdir() if one.is_file()]:
        if file.name not in ("modules.json", "config_sentence_transformers.json"):
            file.rename(path / "0_Transformer" / file.name)
    (path / "config.json").write_text(json.dumps({"__version__": "0.3.2"}))
    modules = json.loads((path / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (path / "modules.json").write_text(json.dumps(modules))
    model, tokenizer, _ = from_pretrained(path)
    assert model.config == kind(name).model.config
    kind(name)._replace(model=model, tokenizer=tokenizer).check(TextEncoder(model, tokenizer))
    assert read_pretrained(path / "0_Transformer").config.head is None  # type: ignore[union-attr]
    shutil.rmtree(path / "0_Transformer")
    with pytest.raises(ImportRefusedError):
        read_pretrained(path)


def test_poolings_in_another_order_leave_as_theirs(bare: Path, tmp_path: Path) -> None:
    model, tokenizer, _ = from_pretrained(describe(bare, pooling_mode=["max", "cls"]))
    assert model.config.pooling == "max+first"
    out = export_pretrained(model, tmp_path / "out", format="huggingface", tokenizer=tokenizer)
    assert json.loads((out / "1_Pooling" / "config.json").read_text()) == {
        "embedding_dimension": 16,
        "pooling_mode": ["max", "cls"],
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"activation_function": "torch.nn.modules.activation.Tanhshrink"}, "Tanhshrink, and Id"),
        ({"module_input_name": "token_embeddings"}, "module_input_name: 'token_embeddings', and"),
        ({"use_residual": True}, "use_residual: true, which is not supported"),
        ({"out_features": "many"}, "the value of out_features must be an integer, is 'many'"),
        ({"bias": "yes"}, "the value of bias must be true or false, is 'yes'"),
        ({"out_features": 5}, "gives a weight of shape .* but the config needs"),
    ],
)
def test_other_linear_layers_are_refused(
    fields: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = Path(shutil.copytree(VECTORS / "first_dense", tmp_path / "model"))
    file = path / "2_Dense" / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))
    with pytest.raises(ImportRefusedError, match=message):
        from_pretrained(path)
    (path / "2_Dense" / "model.safetensors").unlink()
    with pytest.raises(ImportRefusedError):
        from_pretrained(path)


def test_an_unknown_prompt_or_pooling_is_named(kind: Callable[[str], Kind]) -> None:
    read = kind("first_dense")
    encoder = TextEncoder(read.model, read.tokenizer)
    with pytest.raises(ValueError, match="prompt_name must be one of 'document', 'query', got 'x'"):
        encoder.embed(["a"], prompt_name="x")
    with pytest.raises(ValueError, match="pooling must be one of first, .*, got 'sum'"):
        encoder.embed(["a"], "sum")
    assert encoder.embed(["a"], "first+max").shape == (1, 32)
    np.testing.assert_array_equal(
        encoder.embed(["question about this: a"], prompt_name=""), encoder.embed(["a"])
    )
