"""JSON lines: what is read for each kind of text, and what is refused with file and line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.data.sources.json_lines import (
    read_json_labelled,
    read_json_pairs,
    read_json_tagged,
    read_json_texts,
)


def written(path: Path, *records: Any) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_texts_are_those_that_were_written(tmp_path_factory, texts: list[str]) -> None:
    texts.append("a")  # one at least is no white space
    path = tmp_path_factory.mktemp("texts") / "a.jsonl"
    written(path, *({"id": 1, "text": text} for text in texts))
    assert read_json_texts(path).lines == tuple(texts)


def test_each_kind_of_text_has_its_fields(tmp_path: Path) -> None:
    single = written(tmp_path / "a", {"label": "x", "text": "a b"}, {"label": 3, "text": "c"})
    found = read_json_labelled(single)
    assert (found.labels, found.first, found.second) == (("x", "3"), ("a b", "c"), None)
    both = written(tmp_path / "b", {"label": "x", "text": "a", "second_text": "b"})
    assert read_json_labelled(both).second == ("b",)
    pairs = read_json_pairs([both, both])
    assert (pairs.source, pairs.target) == (("a", "a"), ("b", "b"))
    assert pairs.origin == f"{both}, {both}"
    tagged = read_json_tagged(written(tmp_path / "c", {"words": ["a", "dog"], "tags": ["D", "N"]}))
    assert (tagged.words, tagged.tags) == ((("a", "dog"),), (("D", "N"),))


def test_labels_are_cleaned_as_those_of_lines_with_tabs_are(tmp_path: Path) -> None:
    path = written(tmp_path / "a", {"label": " x ", "text": "a"}, {"label": "x", "text": "b"})
    assert read_json_labelled(path).classes == ("x",)


def test_blank_lines_are_empty_texts_and_gzip_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'\n{"text": "a"}\n\n{"text": ""}\n'))
    assert read_json_texts(path).lines == ("", "a", "", "")


@pytest.mark.parametrize(
    ("read", "line", "message"),
    [
        (
            read_json_texts,
            "a b",
            "line 2: expected a JSON object, got 'a b': Expecting value at character 1",
        ),
        (read_json_texts, '["a"]', r"line 2: expected a JSON object, got '\[\"a\"\]'"),
        (read_json_texts, '{"txt": "a"}', "line 2: the field 'text' is missing, only txt given"),
        (read_json_texts, "{}", "line 2: the field 'text' is missing, only none given"),
        (read_json_texts, '{"text": 1}', "line 2: 'text' must be a text, got 1"),
        (read_json_labelled, '{"text": "a"}', "line 2: the field 'label' is missing"),
        (read_json_labelled, '{"text": " ", "label": 1}', "line 2: 'text' is empty"),
        (read_json_labelled, '{"text": "a", "label": true}', "line 2: 'label' must be a text or"),
        (
            read_json_labelled,
            '{"text": "a", "label": 1, "second_text": "b"}',
            "line 2: 'second_text' must be in all lines or in none",
        ),
        (read_json_labelled, '{"text": "a", "label": " "}', "line 2: 'label' must hold text"),
        (
            read_json_labelled,
            r'{"text": "a", "label": "x\ty"}',
            r"line 2: 'label' must hold text, without tabs and line feeds, got 'x\\ty'",
        ),
        (
            read_json_labelled,
            '{"text": "a", "label": %s}' % ("1" * 5000),
            "line 2: cannot read the JSON: Exceeds the limit",
        ),
        (read_json_texts, "[" * 100_000, "line 2: cannot read the JSON: maximum recursion depth"),
        (
            read_json_texts,
            r'{"text": "bad \ud800 text"}',
            r"line 2: 'text' has '\\ud800', half of a surrogate pair: write the whole character",
        ),
        (read_json_labelled, r'{"text": "a", "label": "\udfff"}', r"line 2: 'label' has '\\udfff'"),
        (read_json_tagged, r'{"words": ["\ud800"], "tags": ["D"]}', "line 2: 'words' has"),
        (read_json_pairs, '{"text": "a"}', "line 2: the field 'second_text' is missing"),
        (read_json_tagged, '{"words": ["a"], "tags": []}', "line 2: expected a tag for each word"),
        (read_json_tagged, '{"words": "a", "tags": []}', "line 2: 'words' must be a list of texts"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(
    tmp_path: Path, read: Any, line: str, message: str
) -> None:
    good = {"text": "a", "label": "x", "words": ["a"], "tags": ["D"]}
    if read is read_json_pairs:
        good["second_text"] = "b"
    path = written(tmp_path / "a.jsonl", good)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ValueError, match=f"a.jsonl, {message}"):
        read(path)


def test_wrong_lines_are_named_together(tmp_path: Path) -> None:
    path = written(tmp_path / "a", {"text": "a"}, {"text": "a", "label": 1}, {"label": "x"}, 3)
    with pytest.raises(ValueError, match="3 lines cannot be read") as refused:
        read_json_labelled(path)
    first, second, third = str(refused.value).split("; ")
    assert f"{path}, line 1: the field 'label' is missing" in first
    assert second == "line 3: the field 'text' is missing, only label given"
    assert third == "line 4: expected a JSON object, got '3'"


def test_missing_and_empty_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file: .*nowhere"):
        read_json_texts(tmp_path / "nowhere")
    (tmp_path / "empty").touch()
    with pytest.raises(ValueError, match="the corpus is empty: no line in .*empty"):
        read_json_labelled(tmp_path / "empty")
