"""Cross-encoders of Sentence Transformers and of Hugging Face alone, such as BGE's: their scores of
pairs, and their order of texts.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import OnnxEncoder, TextEncoder, from_pretrained
from keras_transformer.export import export_onnx, export_pretrained
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.translation.text_ids import TextIds
from keras_transformer.understanding.text_rows import TextRows

FOLDER = Path(__file__).parents[1] / "fixtures" / "stacks" / "bert_reranker"
REFERENCE = json.loads((FOLDER / "reference.json").read_text(encoding="utf-8"))
QUERIES, TEXTS = zip(*REFERENCE["pairs"], strict=True)
# Its directory holds no file of Sentence Transformers. The last pairs are longer than it reads.
ALONE = FOLDER.with_name("xlm_roberta_reranker")
OF_ALONE = json.loads((ALONE / "reference.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def read() -> tuple[Any, Any]:
    model, tokenizer, _ = from_pretrained(FOLDER)
    return model, tokenizer


@pytest.fixture
def changed(tmp_path: Path) -> Any:
    """`changed(file, **fields)`: the directory with other fields in a file of JSON."""

    def make(file: str, **fields: Any) -> Path:
        path = tmp_path / "changed"
        if not path.exists():
            shutil.copytree(FOLDER, path)
        found = json.loads((path / file).read_text(encoding="utf-8"))
        (path / file).write_text(json.dumps({**found, **fields}), encoding="utf-8")
        return path

    return make


def test_scores_and_ranks_are_theirs(read: tuple[Any, Any]) -> None:
    reranker = TextEncoder(*read)
    np.testing.assert_allclose(reranker.regress(QUERIES, TEXTS), REFERENCE["scores"], atol=1e-4)
    ranked = reranker.rerank(QUERIES[0], TEXTS)
    assert [one.index for one in ranked] == REFERENCE["ranked"]
    assert [one.text for one in ranked] == [TEXTS[place] for place in REFERENCE["ranked"]]
    assert reranker.rerank(QUERIES[0], TEXTS, top_n=2) == ranked[:2]


@pytest.mark.parametrize(
    "target",
    [
        "native",
        *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("onnxruntime", "portable")),
    ],
)
def test_exported_scores_are_theirs(target: str, read: tuple[Any, Any], tmp_path: Path) -> None:
    export_onnx(*read, tmp_path / "model", target=target)
    with OnnxEncoder(tmp_path / "model", threads=1) as reranker:
        found = reranker.regress(QUERIES, TEXTS)
    np.testing.assert_allclose(found, REFERENCE["scores"], atol=1e-4)


def test_numbers_of_an_xlm_roberta_are_theirs(tmp_path: Path) -> None:
    model, tokenizer, _ = from_pretrained(ALONE)
    assert (model.config.pair_separators, model.config.value_activation) == (2, "linear")
    queries, texts = zip(*OF_ALONE["pairs"], strict=True)
    text_ids = TextIds(tokenizer.subwords, tokenizer.special_ids)
    rows = TextRows(model.config, text_ids, None, "cut").of_texts(queries, texts)
    assert [list(row.token_ids) for row in rows] == OF_ALONE["pair_ids"]
    export_onnx(model, tokenizer, tmp_path / "model")
    with OnnxEncoder(tmp_path / "model", threads=1, long_texts="cut") as exported:
        for reranker in (TextEncoder(model, tokenizer, long_texts="cut"), exported):
            found = reranker.regress(queries, texts)
            np.testing.assert_allclose(found, OF_ALONE["scores"], atol=1e-4)
            ranked = reranker.rerank(queries[0], texts[:-3])
            assert [one.index for one in ranked] == OF_ALONE["ranked"]


@pytest.mark.parametrize(
    "fields",
    [
        {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}},
        {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"},
    ],
)
def test_a_config_names_the_activation(fields: dict[str, Any], changed: Any) -> None:
    assert read_pretrained(changed("config.json", **fields)).config.value_activation == "linear"  # type: ignore[union-attr]


def test_without_a_name_the_number_is_the_head_s(changed: Any) -> None:
    path = changed("config.json")
    (path / "config_sentence_transformers.json").unlink()
    (path / "modules.json").unlink()
    assert read_pretrained(path).config.value_activation == "linear"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("file", "fields", "message"),
    [
        (
            "config_sentence_transformers.json",
            {"activation_fn": "torch.Tanh"},
            "activation torch.T",
        ),
        ("config_sentence_transformers.json", {"default_prompt_name": "web"}, "the prompt 'web'"),
    ],
)
def test_another_activation_or_a_prompt_is_refused(
    file: str, fields: dict[str, Any], message: str, changed: Any
) -> None:
    with pytest.raises(ImportRefusedError, match=message):
        read_pretrained(changed(file, **fields))


def test_pairs_are_read_as_far_as_theirs(changed: Any, tmp_path: Path) -> None:
    path = changed("tokenizer_config.json", model_max_length=20)
    model, tokenizer, _ = from_pretrained(path)
    out = export_pretrained(model, tmp_path / "out", format="huggingface", tokenizer=tokenizer)
    for one in (path, out):
        assert read_pretrained(one).config.max_row_length == 20  # type: ignore[union-attr]


@pytest.mark.parametrize(("told", "longest"), [(10**30, 66), (66, 66), (20, 20)])
def test_a_model_without_positions_keeps_its_limit(told: int, longest: int, tmp_path: Path) -> None:
    path = shutil.copytree(FOLDER.with_name("modernbert_classes"), tmp_path / "model")
    for file, fields in (
        ("config.json", {"id2label": {"0": "LABEL_0"}}),
        ("tokenizer_config.json", {"model_max_length": told}),
    ):
        found = json.loads((path / file).read_text(encoding="utf-8"))
        (path / file).write_text(json.dumps({**found, **fields}), encoding="utf-8")
    config: Any = read_pretrained(path).config
    assert (config.head, config.max_row_length) == ("regression", longest)


def test_an_exported_reranker_is_the_same_again(read: tuple[Any, Any], tmp_path: Path) -> None:
    model, tokenizer = read
    out = export_pretrained(model, tmp_path / "out", format="huggingface", tokenizer=tokenizer)
    assert read_pretrained(out).config == model.config
    described = json.loads((out / "tokenizer_config.json").read_text(encoding="utf-8"))
    # Or its library would read both texts as one.
    assert "token_type_ids" in described["model_input_names"]
