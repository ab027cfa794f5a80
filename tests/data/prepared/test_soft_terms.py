"""Preparing with soft terms: the ids of a corpus in memory, also after an interruption."""

import dataclasses
import random

import pytest

from keras_transformer.data.encoding.encode import encode_pairs
from keras_transformer.data.prepared import prepare as preparing
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.prepared.options import PrepareOptions
from keras_transformer.data.prepared.prepare import prepare
from keras_transformer.data.prepared.shards import read_shards
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.files import read_parallel
from keras_transformer.data.sources.streams import ParallelFiles, SingleFiles
from keras_transformer.markup.soft_terms import extraction
from keras_transformer.markup.soft_terms.pairs import with_soft_terms
from keras_transformer.noise.pairs import with_noise
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import train_tokenizer
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.tasks.training_data import open_prepared

pytestmark = pytest.mark.usefixtures("without_workers")

WORDS = [first + second + "ae" for first in "bdfgkl" for second in "aeiou"]
OPTIONS = PrepareOptions(
    vocab_size=60, tokenizer_type="bpe", max_length=30, soft_terms=0.5, noise=["typos=0.1"], seed=3
)


@pytest.fixture
def aligned(tmp_path):
    """Parallel files whose words have one translation each."""
    draw = random.Random(1)
    lines = [draw.sample(WORDS, 3) for _ in range(200)]
    for side, end in (("source", ""), ("target", "kom")):
        text = "".join(" ".join(word + end for word in line) + "\n" for line in lines)
        (tmp_path / side).write_text(text)
    return ParallelFiles((tmp_path / "source",), (tmp_path / "target",))


def quiet(line: str) -> None:
    """Takes a line of progress."""


def test_they_are_those_of_a_corpus_in_memory(aligned, tmp_path, monkeypatch):
    # Terms come from a sample of the pairs here, too.
    monkeypatch.setattr(extraction, "SAMPLED_PAIRS", 150)
    prepare(aligned, tmp_path / "out", options=OPTIONS, workers=1, say=quiet)
    pairs = read_parallel(aligned.source, aligned.target)
    sides = with_noise(pairs.source, pairs.target, {"typos": 0.1}, seed=3)
    sources = with_soft_terms(*sides, extraction.extract_terms(*sides), share=0.5, seed=3)
    assert 50 < sum(one != other for one, other in zip(sources, sides[0], strict=True)) < 150
    corpus = PreparedCorpus.load(tmp_path / "out")
    tokenizer = train_tokenizer([*sources, *sides[1]], 60, "bpe", has_term_marks=True)
    assert corpus.source_tokenizer.special_ids == tokenizer.special_ids
    encoded = encode_pairs(Pairs(sources, sides[1], ""), tokenizer, tokenizer, max_length=30)
    names = [str(corpus.train.directory / shard.file) for shard in corpus.train.split.shards]
    table = read_shards(names)
    found = dict(zip(table.pair_numbers.numpy().tolist(), table.source.to_list(), strict=True))
    numbers = encoded.pair_numbers.tolist()
    assert found == {number: [*encoded.source[row], 3] for row, number in enumerate(numbers)}
    assert corpus.record.training_text.soft_terms == 0.5


def test_an_interrupted_preparation_goes_on_to_the_same_bytes(aligned, tmp_path, monkeypatch):
    monkeypatch.setattr(preparing, "LINES_PER_PIECE", 60)
    once, other = tmp_path / "once", tmp_path / "other"
    prepare(aligned, once, options=OPTIONS, workers=1, say=quiet)

    def interrupt(line: str) -> None:
        if list(other.rglob("*.npy")):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(aligned, other, options=OPTIONS, workers=1, say=interrupt)
    prepare(aligned, other, options=OPTIONS, workers=3, say=quiet)
    contents = [{one.name: one.read_bytes() for one in path.iterdir()} for path in (once, other)]
    assert contents[0] == contents[1]


def test_they_need_pairs_and_a_vocabulary_with_marks(aligned, tmp_path):
    with pytest.raises(ValueError, match="soft_terms=0.5 are .* these are single texts"):
        options = PrepareOptions(soft_terms=0.5)
        prepare(SingleFiles(aligned.source), tmp_path / "out", options=options, say=quiet)
    train_tokenizer(["a b"], 8, "bpe").save(tmp_path / "tokenizer.model")
    models = (tmp_path / "tokenizer.model",)
    with pytest.raises(ValueError, match="soft_terms=0.5 needs .* marks of terms, and the given"):
        prepare(aligned, tmp_path / "out", options=OPTIONS, tokenizers=models, say=quiet)
    with pytest.raises(ValueError, match="soft_terms is a share of pairs in .0, 1., got 2"):
        PrepareOptions(soft_terms=2)


@pytest.mark.parametrize(("prepared", "asked"), [(0.5, 0.3), (0.0, 0.5)])
def test_a_run_takes_the_share_of_its_corpus(aligned, tmp_path, prepared, asked):
    options = dataclasses.replace(OPTIONS, soft_terms=prepared)
    prepare(aligned, tmp_path / "out", options=options, workers=1, say=quiet)
    corpus, run = PreparedCorpus.load(tmp_path / "out"), RunDirectory(tmp_path / "run")
    with pytest.raises(ValueError, match=f"soft_terms={asked} .* give the {prepared:g} of the"):
        open_prepared(corpus, run, TrainOptions(soft_terms=asked))
    run.path.mkdir()
    for share in (None, prepared):
        data = open_prepared(corpus, run, TrainOptions(soft_terms=share))
        assert data.training_text.soft_terms == prepared
