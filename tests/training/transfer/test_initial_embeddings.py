"""Word vectors as initial embeddings: which pieces get them, in which matrix, and whole runs."""

import dataclasses
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.texts import TextCorpus, Texts
from keras_transformer.models.families import build_model
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train
from keras_transformer.training.texts.train import train_texts
from keras_transformer.training.transfer.initial_embeddings import InitialVectors, piece_vectors

pytestmark = pytest.mark.usefixtures("few_updates")

SIZE = 26
WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
LINES = [f"{a}, {b}" for a in WORDS for b in WORDS]
SMALL = {"model_dim": 8, "feed_forward_dim": 16, "num_heads": 2}
OPTIONS = {"batch_tokens": 64, "max_length": 32, "learning_rate": 0.01, "warmup_steps": 2}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(LINES, vocab_size=SIZE, model_type="bpe")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """Vectors of four words and of a piece within words."""
    rows = np.random.default_rng(0).normal(scale=7, size=(6, 8))
    path = tmp_path / "vectors.txt"
    words = ("ab", "cad", "BED", ",", "e", "dac")
    path.write_text(
        "".join(f"{w} {' '.join(map(str, r))}\n" for w, r in zip(words, rows, strict=True))
    )
    return path


def read(path: Path) -> dict[str, np.ndarray]:
    rows = [line.split() for line in path.read_text().splitlines()]
    return {word: np.asarray(numbers, np.float64) for word, *numbers in rows}


def test_a_piece_takes_the_vector_of_the_word_that_it_spells(tokenizer: Tokenizer) -> None:
    asked = []
    piece_vectors(tokenizer, lambda word: asked.append(word))
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    assert set(WORDS) <= set(asked), pieces
    assert "," in asked and "" not in asked
    whole = {piece[1:] for piece in pieces if piece.startswith("▁")} - {""}
    assert set(asked) == whole | {","}
    found = piece_vectors(tokenizer, lambda word: np.ones(3) if word == "cad" else None)
    assert tokenizer.pieces(list(found)) == ["▁cad"]


@pytest.mark.parametrize(
    ("config", "matrix"),
    [
        (
            EncoderConfig.preset("bert-tiny", vocab_size=SIZE, head="masked_lm", **SMALL),
            "embeddings",
        ),
        (DecoderConfig.preset("llama-tiny", vocab_size=SIZE, **SMALL), "embeddings"),
        (TransformerConfig.preset("tiny", vocab_size=SIZE, **SMALL), "source_embeddings"),
    ],
)
def test_rows_are_the_vectors_up_to_one_factor_and_all_others_stay(
    config: ModelConfig, matrix: str, tokenizer: Tokenizer, vectors: Path, capsys
) -> None:
    keras.utils.set_random_seed(0)
    model = build_model(config)
    before = {weight.path: np.array(weight) for weight in model.weights}
    InitialVectors.open(vectors, has_weights=False).set_embeddings(model, tokenizer, tokenizer)
    after = {weight.path: np.array(weight) for weight in model.weights}
    path = f"{matrix}/tokens/matrix"
    assert [name for name in after if not np.array_equal(before[name], after[name])] == [path]
    expected, known = np.array(before[path], np.float64), read(vectors)
    pieces = tokenizer.pieces(range(SIZE))
    spelled = {"▁ab": "ab", "▁cad": "cad", "▁dac": "dac", ",": ","}
    rows = {pieces.index(piece): known[word] for piece, word in spelled.items()}
    scale = np.sqrt(np.mean([row**2 for row in rows.values()]) * 8)
    for number, row in rows.items():
        expected[number] = row / scale
    np.testing.assert_allclose(after[path], expected, rtol=1e-5)
    assert f"{len(rows)} of {SIZE} pieces have a vector" in capsys.readouterr().out


def test_source_and_target_of_two_vocabularies_take_vectors_of_their_own(
    tokenizer: Tokenizer, vectors: Path, tmp_path: Path
) -> None:
    config = TransformerConfig.preset(
        "tiny", vocab_size=SIZE, target_vocab_size=SIZE, share_embeddings="target", **SMALL
    )
    other = tmp_path / "other.txt"
    other.write_text("ba " + "3 " * 8 + "\n")
    model = build_model(config)
    initial = InitialVectors.open(vectors, other, has_weights=False)
    initial.check(config)
    initial.set_embeddings(model, tokenizer, tokenizer)
    number = tokenizer.pieces(range(SIZE)).index("▁ba")
    target = np.array(model.target_embeddings.tokens.matrix)
    np.testing.assert_allclose(target[number], np.full(8, 8**-0.5), rtol=1e-6)
    assert not np.allclose(np.array(model.source_embeddings.tokens.matrix)[number], target[number])


def test_what_does_not_fit_is_named(vectors: Path, tmp_path: Path, tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="init_target_vectors and init both decide the embeddings"):
        InitialVectors.open(None, vectors, has_weights=True)
    encoder = EncoderConfig.preset("bert-tiny", vocab_size=SIZE)
    with pytest.raises(ValueError, match=r"vectors.txt have 8 dimensions, the model's emb"):
        InitialVectors.open(vectors, has_weights=False).check(encoder)
    narrow = dataclasses.replace(encoder, embedding_dim=4)
    with pytest.raises(ValueError, match=r"embeddings 4: give embedding_dim=8"):
        InitialVectors.open(vectors, has_weights=False).check(narrow)
    both = InitialVectors.open(None, vectors, has_weights=False)
    with pytest.raises(ValueError, match="init_target_vectors is for translation"):
        both.check(EncoderConfig.preset("bert-tiny", vocab_size=SIZE, **SMALL))
    with pytest.raises(ValueError, match="init_target_vectors: source and target share"):
        both.check(TransformerConfig.preset("tiny", vocab_size=SIZE, **SMALL))
    model = build_model(EncoderConfig.preset("bert-tiny", vocab_size=SIZE, **SMALL))
    for text, message in (("x", "has no word of the vocabulary"), ("ab", "one is NaN or infinite")):
        path = tmp_path / f"{text}.txt"
        path.write_text(f"{text} {'nan ' * 8}\n")
        with pytest.raises(ValueError, match=message):
            InitialVectors.open(path, has_weights=False).set_embeddings(model, tokenizer, tokenizer)


@pytest.mark.parametrize(
    "task", ["masked-lm", pytest.param("translation", marks=pytest.mark.exhaustive)]
)
def test_a_run_begins_with_them_and_resumes_with_the_same_only(
    task: str, vectors: Path, tmp_path: Path, capsys
) -> None:
    def run(path: Path | None, resume: bool = False) -> Any:
        given: dict[str, Any] = {
            "vocab_size": SIZE,
            "tokenizer_type": "bpe",
            "init_vectors": path,
            "resume": resume,
            "options": TrainOptions(max_steps=1, bleu_sentences=0, r_drop=0.0, **OPTIONS),
        }
        if task == "translation":
            corpus = Corpus(Pairs(LINES, LINES[::-1], "pairs"))
            return train(corpus, tmp_path / "run", overrides=SMALL, **given).model
        overrides = {**SMALL, "num_layers": 1, "max_positions": 32}
        corpus = TextCorpus(Texts(LINES, "texts"))
        return train_texts(
            "masked-lm", corpus, tmp_path / "run", overrides=overrides, **given
        ).model

    run(vectors)
    assert "pieces have a vector" in capsys.readouterr().out
    with pytest.raises(ValueError, match="started with init_vectors_sha256="):
        run(None, resume=True)
    run(vectors, resume=True)
