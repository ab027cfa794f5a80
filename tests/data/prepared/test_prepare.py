"""Preparing: the ids of a corpus in memory, the same bytes for any number of workers and after
kills, and refusals.
"""

import dataclasses
import gzip
import json
import os
import random
import signal
import subprocess
import sys

import pytest

from keras_transformer.cli import main
from keras_transformer.data.encoding.encode import encode_pairs
from keras_transformer.data.prepared import prepare as preparing
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.prepared.options import PrepareOptions
from keras_transformer.data.prepared.prepare import prepare
from keras_transformer.data.prepared.record import CorpusRecord
from keras_transformer.data.prepared.shards import read_shards
from keras_transformer.data.sources.files import read_parallel
from keras_transformer.data.sources.streams import ParallelFiles, SingleFiles, TsvFiles
from keras_transformer.noise.pairs import read_shares, with_noise
from keras_transformer.text.tokenizer import Tokenizer, train_fitting_tokenizer, train_tokenizer
from keras_transformer.text.training_text import TrainingText

# The preparation that is killed has workers, and leaves the same bytes.
pytestmark = pytest.mark.usefixtures("without_workers")

LINES = 500
WORDS = [first + second + "ae" for first in "bdfgkl" for second in "aeiou"]
OPTIONS = PrepareOptions(vocab_size=60, tokenizer_type="bpe", max_length=30, shards=3)
# What the command line would do, in pieces so small that a kill finds some done and some not.
COMMAND = """
import sys
from keras_transformer.cli import main
from keras_transformer.data.prepared import prepare as preparing
if __name__ == "__main__":
    preparing.LINES_PER_PIECE = 60
    sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Parallel files, the first half packed, with an empty and an over-long line."""
    directory = tmp_path_factory.mktemp("text")
    draw = random.Random(0)
    for side in ("source", "target"):
        lines = [" ".join(draw.choices(WORDS, k=draw.randint(1, 9))) for _ in range(LINES)]
        lines[7 if side == "source" else 300] = ""
        lines[400] = "a " * 40
        half = "".join(f"{line}\n" for line in lines[:250])
        (directory / f"1.{side}.gz").write_bytes(gzip.compress(half.encode()))
        (directory / f"2.{side}").write_text("".join(f"{line}\n" for line in lines[250:]))
        (directory / f"valid.{side}").write_text("a b c\nd e\n")
    return directory


@pytest.fixture(scope="module")
def train(text):
    return ParallelFiles(*((text / f"1.{side}.gz", text / f"2.{side}") for side in SIDES))


@pytest.fixture(scope="module")
def valid(text):
    return ParallelFiles(*((text / f"valid.{side}",) for side in SIDES))


@pytest.fixture(scope="module")
def prepared(train, valid, without_workers, tmp_path_factory):
    directory = tmp_path_factory.mktemp("prepared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparing, "LINES_PER_PIECE", 60)
        prepare(train, directory, valid=valid, options=OPTIONS, workers=1, say=lambda _: None)
    return directory


SIDES = ("source", "target")


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def rows(pairs):
    """Every row in the shards by its line number."""
    table = read_shards([str(pairs.directory / shard.file) for shard in pairs.split.shards])
    columns = (table.pair_numbers.numpy().tolist(), table.source.to_list(), table.target.to_list())
    return {number: (source, target) for number, source, target in zip(*columns, strict=True)}


def test_ids_and_report_are_those_of_the_corpus_in_memory(prepared, train, valid):
    corpus = PreparedCorpus.load(prepared)
    in_memory = read_parallel(train.source, train.target)
    tokenizer = train_tokenizer([*in_memory.source, *in_memory.target], 60, "bpe")
    encoded = encode_pairs(in_memory, tokenizer, tokenizer, max_length=30)
    assert corpus.train.report == encoded.report
    assert (encoded.report.empty, encoded.report.too_long) == (2, 1)
    assert rows(corpus.train) == {
        number: ([*encoded.source[row], 3], [2, *encoded.target[row], 3])
        for row, number in enumerate(encoded.pair_numbers.tolist())
    }
    assert len(rows(corpus.valid)) == len(corpus.valid) == 2
    assert corpus.source_tokenizer is corpus.target_tokenizer


def test_a_vocabulary_without_a_size_is_that_of_the_corpus_in_memory(train, tmp_path):
    prepare(train, tmp_path / "out", options=PrepareOptions(), workers=1, say=lambda _: None)
    in_memory = read_parallel(train.source, train.target)
    fitting = train_fitting_tokenizer([*in_memory.source, *in_memory.target], None)
    tokenizer = PreparedCorpus.load(tmp_path / "out").source_tokenizer
    ids = range(fitting.vocab_size)
    assert tokenizer.vocab_size == fitting.vocab_size < 100
    assert tokenizer.pieces(ids) == fitting.pieces(ids)


def test_the_manifest_says_what_the_shards_hold(prepared):
    manifest = json.loads((prepared / "manifest.json").read_text())
    shards = manifest["train"]["shards"]
    assert sum(shard["pairs"] for shard in shards) == manifest["train"]["report"]["kept"] == 497
    assert max(shard["pairs"] for shard in shards) - min(shard["pairs"] for shard in shards) < 12
    for shard in shards:
        assert sum(shard["counts"]) == shard["pairs"]
        assert shard["bytes"] == (prepared / shard["file"]).stat().st_size
    assert sorted(path.name for path in prepared.iterdir()) == [
        "manifest.json",
        "tokenizer.model",
        *(f"train-{number:05d}-of-00003.tfrecord" for number in range(3)),
        "valid-00000-of-00001.tfrecord",
    ]


@pytest.mark.exhaustive
def test_a_killed_preparation_goes_on_to_the_same_bytes_with_any_number_of_workers(
    prepared, text, tmp_path, monkeypatch
):
    flags = [f"--{split}-{side}" for split in ("train", "valid") for side in SIDES]
    paths = [[f"1.{side}.gz", f"2.{side}"] for side in SIDES] + [[f"valid.{s}"] for s in SIDES]
    words = ["prepare", "--output", str(tmp_path / "out")]
    for flag, names in zip(flags, paths, strict=True):
        words += [flag, *(str(text / name) for name in names)]
    words += "--vocab-size 60 --tokenizer-type bpe --max-length 30 --shards 3".split()
    for workers, line in ((1, "pieces tokenized: 4"), (2, "shards written: 2")):
        killed = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *words, "--workers", str(workers)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with killed:
            for said in killed.stdout:
                if line in said:
                    break
            os.kill(killed.pid, signal.SIGKILL)
        assert not (tmp_path / "out" / "manifest.json").exists()
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("train-*")}
    assert len(done) >= 2
    monkeypatch.setattr(preparing, "LINES_PER_PIECE", 60)
    assert main([*words, "--workers", "1"]) == 0
    assert contents(tmp_path / "out") == contents(prepared)
    records = [path for path in done if path.stat().st_mtime_ns == done[path]]
    assert len(records) >= 2, "finished shards were written again"


def test_a_second_call_finds_all_done(prepared, train, valid):
    said = []
    before = contents(prepared)
    prepare(train, prepared, valid=valid, options=OPTIONS, workers=1, say=said.append)
    assert said == [f"{prepared} is prepared already"] and contents(prepared) == before


@pytest.mark.parametrize(
    ("changes", "part"),
    [({"options": PrepareOptions(seed=1)}, "options"), ({"valid": None}, "valid")],
)
def test_other_text_or_settings_are_refused(prepared, train, valid, changes, part):
    with pytest.raises(FileExistsError, match=f"was begun with other {part}: give the same"):
        prepare(
            train, prepared, **{"valid": valid, "options": OPTIONS, **changes}, workers=1, say=print
        )


def test_tsv_and_existing_tokenizers(prepared, text, tmp_path):
    (tmp_path / "pairs.tsv").write_text("1\ta b\tc\n2\td e f\tg h\n")
    source = train_tokenizer(["a b c d e f g h"] * 4, 14, "bpe")
    source.save(tmp_path / "source.model")
    manifest = prepare(
        TsvFiles((tmp_path / "pairs.tsv",), 1, 2),
        tmp_path / "out",
        tokenizers=(tmp_path / "source.model", prepared / "tokenizer.model"),
        options=PrepareOptions(shards=1),
        workers=1,
        say=lambda _: None,
    )
    target = Tokenizer.load(prepared / "tokenizer.model")
    assert list(manifest.tokenizers) == ["source_tokenizer.model", "target_tokenizer.model"]
    corpus = PreparedCorpus.load(tmp_path / "out")
    assert corpus.source_tokenizer.model == source.model
    assert corpus.valid is None
    expected = zip(source.encode(["a b", "d e f"]), target.encode(["c", "g h"]), strict=True)
    assert rows(corpus.train) == dict(enumerate(([*s, 3], [2, *t, 3]) for s, t in expected))


@pytest.mark.exhaustive
def test_a_tokenizer_json_is_kept_as_it_is(text, tmp_path, tokenizer_jsons):
    (tmp_path / "pairs.tsv").write_text("1\tA man\tTwo dogs\n")
    (tmp_path / "given").write_bytes(tokenizer_jsons["wordpiece"])
    arguments = {
        "tokenizers": (tmp_path / "given",),
        "options": PrepareOptions(shards=1),
        "workers": 2,
        "say": lambda _: None,
    }
    manifest = prepare(TsvFiles((tmp_path / "pairs.tsv",), 1, 2), tmp_path / "out", **arguments)
    assert list(manifest.tokenizers) == ["tokenizer.json"]
    corpus = PreparedCorpus.load(tmp_path / "out")
    tokenizer = corpus.source_tokenizer
    assert tokenizer.model == tokenizer_jsons["wordpiece"]
    source, target = tokenizer.encode(["A man", "Two dogs"])
    assert rows(corpus.train) == {0: ([*source, 3], [2, *target, 3])}
    # What can never be finished leaves nothing.
    (tmp_path / "empty.tsv").write_text("1\t\t\n")
    with pytest.raises(ValueError):
        prepare(TsvFiles((tmp_path / "empty.tsv",), 1, 2), tmp_path / "none", **arguments)
    assert not [path for path in (tmp_path / "none").iterdir() if path.suffix == ".json"]


def test_unequal_files_are_refused_before_any_work(text, tmp_path):
    stream = ParallelFiles((text / "2.source",), (text / "valid.target",))
    with pytest.raises(ValueError, match=r"2\.source has 250 lines but .*valid\.target has 2"):
        prepare(stream, tmp_path / "out", workers=1, say=print)
    assert not (tmp_path / "out").exists()


def test_nothing_left_is_an_error_with_the_counts(valid, text, tmp_path):
    options = PrepareOptions(vocab_size=14, tokenizer_type="bpe", max_length=2, shards=1)
    with pytest.raises(ValueError, match="no pair of .* is left: kept 0 of 2 pairs"):
        prepare(valid, tmp_path / "out", options=options, workers=1, say=lambda _: None)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"vocab_size": 5000}, id="vocabulary", marks=pytest.mark.exhaustive),
        pytest.param({"vocab_size": 14, "max_length": 2}, id="length"),
    ],
)
def test_after_an_error_the_options_that_it_asks_for_are_taken(
    prepared, train, valid, wrong, tmp_path
):
    options = dataclasses.replace(OPTIONS, **wrong)
    streams = (valid, train) if "max_length" in wrong else (train, valid)
    with pytest.raises(ValueError, match="lower vocab_size|no pair of"):
        prepare(streams[0], tmp_path / "out", options=options, workers=1, say=lambda _: None)
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparing, "LINES_PER_PIECE", 60)
        prepare(train, tmp_path / "out", valid=valid, options=OPTIONS, workers=1, say=print)
    assert contents(tmp_path / "out") == contents(prepared)


@pytest.fixture
def unread(monkeypatch):
    """No process reads text."""
    monkeypatch.setattr(preparing, "worker_processes", lambda workers: pytest.fail("text is read"))


def test_a_directory_with_other_files_is_refused_before_the_text_is_read(unread, valid, tmp_path):
    (tmp_path / "tokenizer.model").touch()
    with pytest.raises(FileExistsError, match="holds other files, such as tokenizer.model"):
        prepare(valid, tmp_path, say=print)
    with pytest.raises(OSError, match="tokenizer.model: it is a file already"):
        prepare(valid, tmp_path / "tokenizer.model", say=print)


def test_a_missing_tokenizer_is_told_before_the_text_is_read(unread, valid, tmp_path):
    with pytest.raises(FileNotFoundError, match="no tokenizer model at .*absent"):
        prepare(valid, tmp_path / "out", tokenizers=(tmp_path / "absent",), say=print)


def test_a_pipe_is_refused_before_it_is_read(unread, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe is a pipe, and this text is read more than once"):
        prepare(SingleFiles((tmp_path / "pipe",)), tmp_path / "out", say=print)


def test_sentinels_are_for_a_vocabulary_that_is_trained_on_single_texts(
    unread, valid, text, prepared, tmp_path
):
    options = PrepareOptions(num_sentinels=9)
    with pytest.raises(ValueError, match="num_sentinels=9 is for .* single texts: leave it out"):
        prepare(valid, tmp_path / "out", options=options, say=print)
    single, model = SingleFiles((text / "valid.source",)), prepared / "tokenizer.model"
    with pytest.raises(ValueError, match="num_sentinels=9 is for .* single texts: leave it out"):
        prepare(single, tmp_path / "out", tokenizers=(model,), options=options, say=print)


def test_noise_is_that_of_a_corpus_in_memory(train, text, prepared, tmp_path):
    options = dataclasses.replace(OPTIONS, noise=["capitals=0.5", "typos=0.5"], shards=1, seed=3)
    prepare(train, tmp_path, options=options, workers=1, say=lambda _: None)
    corpus, pairs = PreparedCorpus.load(tmp_path), read_parallel(train.source, train.target)
    noisy = with_noise(pairs.source, pairs.target, read_shares(options.noise), seed=3)
    tokenizer = train_tokenizer([*noisy[0], *noisy[1]], 60, "bpe")
    assert corpus.source_tokenizer.pieces(range(60)) == tokenizer.pieces(range(60))
    assert corpus.record.training_text.capitals > 100
    number, (source, _) = next(iter(rows(corpus.train).items()))
    assert source == [*tokenizer.encode([noisy[0][number]])[0], 3]


def test_noise_is_not_for_single_texts(text, tmp_path):
    options, single = PrepareOptions(noise=["emoji=0.1"]), SingleFiles((text / "valid.source",))
    with pytest.raises(ValueError, match="noise=emoji=0.1 is put into pairs"):
        prepare(single, tmp_path / "out", options=options, say=print)


def test_options_without_sentinels_are_those_of_a_version_that_knew_none():
    assert "num_sentinels" not in PrepareOptions().to_dict()
    assert PrepareOptions(num_sentinels=9).to_dict()["num_sentinels"] == 9
    assert not {"noise", "soft_terms"} & set(PrepareOptions().to_dict())


def test_workers_are_counted_from_one(train, tmp_path):
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
        prepare(train, tmp_path / "out", workers=0, say=print)


def test_a_directory_without_a_manifest_is_no_corpus(tmp_path):
    with pytest.raises(FileNotFoundError, match="manifest.json is missing: .* run it again"):
        PreparedCorpus.load(tmp_path)


def test_a_damaged_manifest_or_another_tokenizer_is_refused(prepared, tmp_path):
    for name, data in contents(prepared).items():
        (tmp_path / name).write_bytes(data)
    train_tokenizer(["a b"], 8, "bpe").save(tmp_path / "tokenizer.model")
    with pytest.raises(ValueError, match="tokenizer.model is no longer the tokenizer of this"):
        PreparedCorpus.load(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 2}')
    with pytest.raises(ValueError, match="manifest.json cannot be read .format 2, expected 1"):
        PreparedCorpus.load(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_length", 1), ("shards", 0), ("seed", -1), ("tokenizer_sentences", 0), ("vocab_size", 4)],
)
def test_options_out_of_range_are_named(field, value):
    with pytest.raises(ValueError, match=f"{field} must be at least .*, got {value}"):
        PrepareOptions(**{field: value})


@pytest.mark.parametrize(
    ("field", "value", "error", "expected"),
    [
        ("vocab_size", "9", TypeError, "an integer"),
        ("max_length", float("nan"), TypeError, "an integer"),
        ("max_length", True, TypeError, "an integer"),
        ("shards", 2.5, TypeError, "an integer"),
        ("seed", float("nan"), TypeError, "an integer"),
        ("joint_vocabulary", "no", TypeError, "True or False"),
        ("tokenizer_type", "foo", ValueError, "one of unigram, bpe, char"),
    ],
)
def test_options_of_another_type_are_named(field, value, error, expected) -> None:
    with pytest.raises(error, match=f"{field} must be {expected}, got {value!r}"):
        PrepareOptions(**{field: value})


def test_the_record_of_training_text_is_that_of_a_corpus_in_memory(train, prepared) -> None:
    tokenizer = Tokenizer.load(prepared / "tokenizer.model")
    pairs = read_parallel(train.source, train.target)
    encoded = encode_pairs(pairs, tokenizer, tokenizer, OPTIONS.max_length)
    kept = [pairs.source[number] for number in encoded.pair_numbers]
    expected = TrainingText.from_lines(kept, longest_source=int(encoded.source.lengths.max()))
    assert CorpusRecord.load(prepared).training_text == expected


def test_a_manifest_without_a_record_of_training_text_is_read(prepared, tmp_path) -> None:
    content = json.loads((prepared / "manifest.json").read_text())
    del content["training_text"]
    for shard in content["train"]["shards"]:
        del shard["longest_source"]
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    assert CorpusRecord.load(tmp_path).training_text is None
