"""docs/import.md and docs/export_formats.md: their tables name everything that is read and written,
and nothing else; the search's options that go along are those of the page.
"""

import re
from pathlib import Path

from keras_transformer.config import SpecialIds
from keras_transformer.export.pretrained.huggingface.write import ARCHITECTURES
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.generation import read_search
from keras_transformer.pretrained.keras_hub.directory import FAMILIES as KERAS_HUB
from keras_transformer.pretrained.recognise import HUGGINGFACE, RECOGNISED_BY

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "import.md"


def test_the_table_names_the_architectures_of_hugging_face() -> None:
    rows = [
        line.split("|")
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| Hugging Face")
    ]
    named = {name for row in rows for name in re.findall(r"`([a-z0-9_-]+)`", row[3])}
    assert named == set(HUGGINGFACE)


def test_the_table_names_the_families_of_keras_hub() -> None:
    [row] = [
        line.split("|")
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| keras-hub")
    ]
    assert set(re.findall(r"`(\w+Backbone)`", row[3])) == set(KERAS_HUB)
    # An XLMRobertaModel is a RobertaModel with another vocabulary.
    forms = {"XLMRobertaModel", *(one.form.name for one in ARCHITECTURES)}
    assert "all are written, too" in row[3]
    assert {one.heads[""].architecture for one in KERAS_HUB.values()} <= forms


def test_the_table_names_the_formats() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = lines.index("| format | recognised by | models | vocabulary |")
    rows = lines[begin + 2 : lines.index("", begin)]
    named = {re.split(r"[|,]", row)[1].strip().removesuffix(" 2") for row in rows}
    assert named == {"Marian", "CTranslate2", "OpenNMT-tf", "GGUF", "keras-hub", "Hugging Face"}
    assert all(name in RECOGNISED_BY for name in named)


def test_the_way_out_names_the_architectures_of_hugging_face() -> None:
    page = (DOCS / "export_formats.md").read_text(encoding="utf-8")
    section = page[page.index("## What goes where") : page.index("## ctranslate2")]
    kinds = r"[Bb]erta?(?:V2)?Model|(?:MP|XL)NetModel|ElectraModel|HeadModel|Generation|CausalLM"
    endings = rf"`(\w*(?:MTModel|{kinds}))`"
    named = set(re.findall(endings, section))
    # mBART's and M2M100's are called by the names of their tokenizers, as the table has them.
    others = {"MBartForConditionalGeneration", "M2M100ForConditionalGeneration"}
    # It is a RobertaModel with another vocabulary.
    assert named | others == {"XLMRobertaModel", *(one.form.name for one in ARCHITECTURES)}


def test_the_page_names_the_options_of_a_search_that_go_along() -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page[page.index("## How they search") : page.index("## Fine-tuning")]
    words = {
        "beam_size": "beams",
        "length_penalty": "length penalty",
        "early_stopping": "early stopping",
        "max_length": "longest",
        "min_length": "shortest",
        "no_repeat_ngram_size": "repetitions",
        "banned_sequences": "banned",
        "forced_tokens": "forced",
        "temperature": "temperature",
        "top_k": "`top_k`",
        "top_p": "`top_p`",
    }
    theirs = {
        "num_beams": 2,
        "length_penalty": 0.5,
        "early_stopping": True,
        "max_length": 9,
        "min_length": 3,
        "no_repeat_ngram_size": 2,
        "bad_words_ids": [[7]],
        "forced_bos_token_id": 8,
        "temperature": 0.7,
        "top_k": 40,
        "top_p": 0.9,
    }
    found = read_search(Path("nowhere"), Fields(Path("nowhere"), theirs), SpecialIds())
    assert found.keys() - {"length_penalty_type"} == words.keys()
    assert all(word in section for word in words.values())
