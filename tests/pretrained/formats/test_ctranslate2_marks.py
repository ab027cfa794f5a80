"""What stands around the texts of CTranslate2's models: read where a directory tells it, refused
where it does not; and what else its `config.json` and vocabularies must agree on.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import from_pretrained
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.export import export_pretrained
from keras_transformer.export.pretrained.ctranslate2.write import spec_of
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.formats.ctranslate2_marks import read_marks
from keras_transformer.pretrained.recognise import read_pretrained

CONFIG = Path("there/config.json")
MARIAN = ["</s>", "<unk>", "▁a"]
OPENNMT = ["<blank>", "<s>", "</s>", "▁a", "<unk>"]
FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>", "▁a"]


@pytest.fixture
def written(translators: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Exports a directory of the fixtures to change."""

    def make(kind: str) -> Path:
        model, source, target = from_pretrained(translators / kind)
        tokenizers = {"tokenizer": source, "target_tokenizer": target}
        return export_pretrained(model, tmp_path / kind, format="ctranslate2", **tokenizers)

    return make


def change(directory: Path, *, without: str = "", **fields: Any) -> None:
    path = directory / "config.json"
    values = {**json.loads(path.read_text(encoding="utf-8")), **fields}
    values.pop(without, None)
    path.write_text(json.dumps(values), encoding="utf-8")


@pytest.mark.parametrize("kind", ["opennmt", "nllb"])
def test_marks_of_our_exports_come_back(
    kind: str, written: Callable[[str], Path], translators: Path
) -> None:
    original, source, _ = from_pretrained(translators / kind)
    model, ours, _ = from_pretrained(written(kind))
    assert model.config.marks == original.config.marks
    assert model.config.special_ids.never_generated == original.config.special_ids.never_generated
    assert ours.encode(["I am here."]) == source.encode(["I am here."])
    ids = np.array([[5, 6, 7, 8]])
    inputs = {"source_ids": ids, "target_ids": ids}
    np.testing.assert_array_equal(np.asarray(model(inputs)), np.asarray(original(inputs)))


@pytest.mark.parametrize(
    ("settings", "pieces", "is_marian", "expected"),
    [
        # As CTranslate2 4.8 converts them: Marian, and Marian of Hugging Face.
        ({"decoder_start_token": "<s>", "add_source_eos": True}, MARIAN, True, True),
        ({"decoder_start_token": "</s>", "add_source_eos": False}, MARIAN, True, True),
        # Fairseq.
        ({"decoder_start_token": "</s>", "add_source_eos": True}, FAIRSEQ, False, True),
        # Pegasus of Hugging Face.
        ({"decoder_start_token": "<pad>", "add_source_eos": False}, FAIRSEQ, False, True),
        # OpenNMT-tf, with and without marks of its own, and OpenNMT-py.
        ({"decoder_start_token": "<s>", "add_source_eos": False}, OPENNMT, False, False),
        ({"decoder_start_token": "<s>", "add_source_eos": True}, OPENNMT, False, True),
        # What a user writes.
        ({"decoder_start_token": "</s>", "marks": {"source_eos": False}}, FAIRSEQ, False, False),
    ],
)
def test_whether_a_source_has_an_eos_is_read(
    settings: dict[str, Any], pieces: list[str], is_marian: bool, expected: bool
) -> None:
    found = read_marks(CONFIG, settings, pieces, is_marian=is_marian)
    assert found == SentenceMarks(source_eos=expected)


@pytest.mark.parametrize("start", ["</s>", "<s>", None])
def test_a_source_that_may_have_an_eos_or_not_is_refused(start: str | None) -> None:
    settings = {"decoder_start_token": start, "add_source_eos": False}
    with pytest.raises(ImportRefusedError, match=r'add_source_eos: false.*give it the field "mark'):
        read_marks(CONFIG, settings, FAIRSEQ, is_marian=False)


def test_tags_of_languages_are_marks_of_marian_s_models() -> None:
    pieces = [*MARIAN, ">>fra<<", ">>deu<<", "<<a>>"]
    settings = {"decoder_start_token": "</s>", "add_source_eos": False}
    marks = read_marks(CONFIG, settings, pieces, is_marian=True)
    assert marks == SentenceMarks(languages={"fra": 3, "deu": 4}, languages_in="source")


def test_what_begins_a_source_is_one_of_its_pieces() -> None:
    settings = {"add_source_bos": True, "add_source_eos": True, "bos_token": "<s>"}
    assert read_marks(CONFIG, settings, OPENNMT, is_marian=False).source == (1,)
    with pytest.raises(ImportRefusedError, match="bos_token: '<s>', which begins sources"):
        read_marks(CONFIG, settings, MARIAN, is_marian=False)


@pytest.mark.parametrize("marks", [3, {"source_eos": "no"}, {"sauce": []}])
def test_damaged_marks_are_refused(marks: Any) -> None:
    with pytest.raises(ImportRefusedError, match="has marks that cannot be read"):
        read_marks(CONFIG, {"marks": marks}, FAIRSEQ, is_marian=False)


def test_a_decoder_that_its_callers_start_is_refused(written: Callable[[str], Path]) -> None:
    directory = written("pegasus")
    change(directory, decoder_start_token=None)
    with pytest.raises(ImportRefusedError, match="decoder_start_token: None: config.json must"):
        read_pretrained(directory)


def test_vocabularies_with_different_special_ids_are_refused(
    written: Callable[[str], Path],
) -> None:
    directory = written("pegasus")
    shared = directory / "shared_vocabulary.json"
    pieces = json.loads(shared.read_text(encoding="utf-8"))
    shutil.move(shared, directory / "target_vocabulary.json")
    eos, text = pieces.index("</s>"), len(pieces) - 1
    pieces[eos], pieces[text] = pieces[text], pieces[eos]
    (directory / "source_vocabulary.json").write_text(json.dumps(pieces), encoding="utf-8")
    with pytest.raises(ImportRefusedError, match="vocabularies with different special ids"):
        read_pretrained(directory)


@pytest.mark.parametrize(("factor", "scales"), [(1.0, False), (4.0, True), (2.0, None)])
def test_embeddings_may_be_scaled_by_a_number(
    factor: float, scales: bool | None, written: Callable[[str], Path], translators: Path
) -> None:
    """As converters of Hugging Face's models and of fairseq's write it."""
    directory = written("pegasus")
    spec = spec_of(Outgoing(*from_pretrained(translators / "pegasus")))
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = factor
    spec.validate()
    spec.optimize()
    spec.save(str(directory))
    if scales is None:
        with pytest.raises(ImportRefusedError, match="multiplies embeddings by 2.0"):
            read_pretrained(directory)
        return
    assert read_pretrained(directory).config.scale_embeddings is scales  # type: ignore[union-attr]
