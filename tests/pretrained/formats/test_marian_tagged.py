"""Directories as OPUS-MT publishes them: a SentencePiece model for each side, one vocabulary in
YAML that has tags of languages and lacks pieces that texts are split to, which Marian then reads
as unknown.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from keras_transformer import GraphTokenizer, Tokenizer, Translator
from keras_transformer.export import export_pretrained
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.formats.marian_vocabulary import read_vocabulary
from keras_transformer.pretrained.recognise import from_pretrained, read_pretrained
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.added_pieces import with_words
from keras_transformer.training.transfer.import_run import import_run
from keras_transformer.training.transfer.rehearsal import piece_probabilities

FOLDER = Path(__file__).parents[2] / "fixtures" / "translators" / "marian_tagged"
# Of each of the first two, one side's vocabulary lacks a piece.
TEXTS = ["I explain the question on Fridays.", "No me gusta el vino.", "☃ xyz", ""]


@pytest.fixture(scope="module")
def sides() -> dict[str, Tokenizer]:
    source, target = read_pretrained(FOLDER).tokenizers
    return {"source": source, "target": target}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "theirs"))


def looked_up(side: str, texts: Sequence[str]) -> list[list[int]]:
    """Ids as Marian finds them: pieces in the vocabulary, and unknown ones."""
    ids = read_vocabulary(FOLDER / "vocab.yml")
    pieces = sentencepiece.SentencePieceProcessor(str(FOLDER / f"{side}.spm"))
    return [
        [ids.get(piece, ids["<unk>"]) for piece in pieces.encode(text, out_type=str)]
        for text in texts
    ]


@pytest.mark.parametrize("side", ["source", "target"])
def test_each_side_has_its_own_model_and_unknown_pieces(
    side: str, sides: dict[str, Tokenizer]
) -> None:
    tokenizer, expected = sides[side], looked_up(side, TEXTS)
    assert tokenizer.encode(TEXTS) == expected
    assert tokenizer.encode(TEXTS * 40) == expected * 40
    assert any(row.count(tokenizer.special_ids.unk) for row in expected[:2])


def test_graphs_give_the_same_ids(sides: dict[str, Tokenizer]) -> None:
    for side, tokenizer in sides.items():
        assert GraphTokenizer(tokenizer.model).tokenize(TEXTS).to_list() == looked_up(side, TEXTS)


def test_no_id_is_beyond_the_vocabulary(sides: dict[str, Tokenizer]) -> None:
    source = sides["source"]
    size = len(read_vocabulary(FOLDER / "vocab.yml")) + 1  # The padding.
    assert source.vocab_size == size == len(piece_probabilities(source))
    for seed in range(20):
        assert max(map(max, source.sample(TEXTS[:2], 0.1, seed))) < size
    lacked = next(
        piece
        for piece in source.split(TEXTS[0])
        if piece not in read_vocabulary(FOLDER / "vocab.yml")
    )
    assert source.subwords.id_of(lacked) is None
    unknown = [place.is_unknown for place in source.subwords.place(TEXTS[0])]
    assert unknown == [token == source.special_ids.unk for token in source.encode(TEXTS)[0]]


def test_an_import_tells_how_many_pieces_are_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import_run(FOLDER, tmp_path / "run")
    told = capsys.readouterr().out
    assert "the vocabulary lacks 21 pieces of the source's SentencePiece model" in told
    assert "the vocabulary lacks 19 pieces of the target's SentencePiece model" in told
    # A run keeps them.
    source, target = RunDirectory(tmp_path / "run").load_tokenizers()
    assert source.encode(TEXTS) == looked_up("source", TEXTS)
    assert target.encode(TEXTS) == looked_up("target", TEXTS)


def test_added_words_change_no_id(sides: dict[str, Tokenizer]) -> None:
    source = sides["source"]
    longer = with_words(source, ["keras"])
    assert longer.vocab_size == source.vocab_size + 1
    assert longer.encode(TEXTS) == source.encode(TEXTS)
    assert longer.encode(["a keras"])[0][-1] == source.vocab_size


def test_a_tag_is_the_language_s_mark() -> None:
    ids = read_vocabulary(FOLDER / "vocab.yml")
    model, source, target = from_pretrained(FOLDER)
    assert model.config.marks.languages == {"spa": ids[">>spa<<"], "fra": ids[">>fra<<"]}
    translator = Translator(model, source, target)
    text, best = "Two dogs run.", "Dos perros."
    plain = [
        translator.score([text], [best], target_language=code)[0].log_probability
        for code in ("spa", "fra")
    ]
    tagged = [
        translator.score([f">>{code}<< {text}"], [best], target_language="spa")[0].log_probability
        for code in ("spa", "fra")
    ]
    np.testing.assert_allclose(tagged, plain, rtol=1e-6)
    assert abs(plain[0] - plain[1]) > 0.01


def test_without_a_decoder_s_file_the_ids_are_still_the_vocabulary_s(copy: Path) -> None:
    (copy / "decoder.yml").unlink()
    for ours, theirs in zip(
        read_pretrained(copy).tokenizers, read_pretrained(FOLDER).tokenizers, strict=True
    ):
        assert ours.model == theirs.model


@pytest.mark.parametrize(
    "names", [("en.vocab.yml", "de.vocab.yml"), ("src.vocab.yml", "b.vocab.yml")]
)
def test_sides_that_no_name_tells_are_refused(names: tuple[str, str], copy: Path) -> None:
    (copy / "decoder.yml").unlink()
    for name in names:
        shutil.copy(copy / "vocab.yml", copy / name)
    (copy / "vocab.yml").unlink()
    with pytest.raises(ImportRefusedError, match="two with src and trg in their names"):
        read_pretrained(copy)


def test_a_sentencepiece_model_of_another_vocabulary_is_refused(copy: Path) -> None:
    names = ["</s>", "<unk>", *(f"piece{number}" for number in range(400))]
    lines = [f"{name}: {number}" for number, name in enumerate(names)]
    (copy / "vocab.yml").write_text("\n".join(lines))
    with pytest.raises(ImportRefusedError, match="they belong to different models"):
        read_pretrained(copy)


@pytest.mark.parametrize("form", ["marian", "ctranslate2"])
def test_it_leaves_and_comes_back(form: str, sides: dict[str, Tokenizer], tmp_path: Path) -> None:
    model, source, target = from_pretrained(FOLDER)
    tokenizers = {"tokenizer": source, "target_tokenizer": target}
    written = export_pretrained(model, tmp_path / "out", format=form, **tokenizers)
    if form == "ctranslate2":
        for side, tokenizer in sides.items():
            tokenizer.save(written / f"{side}.spm")
    else:
        assert read_vocabulary(written / "vocab.yml") == read_vocabulary(FOLDER / "vocab.yml")
    again, *found = from_pretrained(written)
    assert again.config.marks == model.config.marks
    for ours, theirs in zip(found, (source, target), strict=True):
        assert ours.encode(TEXTS) == theirs.encode(TEXTS)
    for ours, theirs in zip(again.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
