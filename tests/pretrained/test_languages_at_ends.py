"""mBART of 2020, whose languages stand at the ends of texts: an import chooses them."""

import json
import shutil
from pathlib import Path

import pytest

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import read_pretrained


def test_a_pair_of_languages_comes_with_the_files(translators: Path) -> None:
    config = read_pretrained(translators / "mbart").config
    marks = config.marks  # type: ignore[union-attr]
    assert (marks.source_language, marks.target_language) == ("en_XX", "es_XX")
    assert config.special_ids.decoder_start == marks.languages["es_XX"]
    assert config.source_ends == (config.special_ids.eos, marks.languages["en_XX"])  # type: ignore[union-attr]


def test_another_pair_changes_the_start_and_the_end(translators: Path) -> None:
    config = read_pretrained(translators / "mbart").between("de_DE", "fr_XX").config
    marks = config.marks  # type: ignore[union-attr]
    assert config.special_ids.decoder_start == marks.languages["fr_XX"]
    assert config.source_ends == (config.special_ids.eos, marks.languages["de_DE"])  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="target_language must be one of 25"):
        read_pretrained(translators / "mbart").between(None, "xx")


def test_a_model_that_names_no_language_asks_for_one(translators: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(translators / "mbart", tmp_path / "mbart"))
    for name, field in (("config", "decoder_start_token_id"), ("tokenizer_config", "tgt_lang")):
        file = path / f"{name}.json"
        values = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**values, field: None}), encoding="utf-8")
    imported = read_pretrained(path)
    with pytest.raises(ImportRefusedError, match="import it with --target-language"):
        imported.build()
    imported.between(None, "fr_XX").build()
