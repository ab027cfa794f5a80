"""Prepares a corpus: takes streams of text and writes shards of ids, a vocabulary and a record.

Text is tokenized once, piece by piece, by parallel processes. Completed parts are kept: a killed
preparation resumes where it was, and writes the same bytes as an uninterrupted one.
"""

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, get_args

from keras_transformer.config.checks import check_choice, check_flag, check_size
from keras_transformer.data.prepared.pieces import PieceSettings, keep_pairs
from keras_transformer.data.prepared.processes import worker_processes
from keras_transformer.data.prepared.record import RECORD, SINGLE, CorpusRecord, Split
from keras_transformer.data.prepared.splitting import Workforce, make_split
from keras_transformer.data.sources.streams import PairStream, describe_text
from keras_transformer.text.subwords.opening import SUFFIXES
from keras_transformer.text.tokenizer import FEWEST_PIECES, ModelType, Tokenizer, train_tokenizer
from keras_transformer.text.tokenizer_files import SHARED, SOURCE, TARGET, tokenizer_paths
from keras_transformer.text.training_text import SAMPLED_LINES, TrainingText
from keras_transformer.whole_files import check_output, remove_partials, write_text

PAIRS_PER_SHARD = 250_000
# Small enough for many to be processed at once, large enough that each shard's part is not tiny.
LINES_PER_PIECE = 50_000
# A number of workers that divides this gets equally many shards each.
_SHARDS_MULTIPLE = 8
# Holds the files that are only needed until the preparation is finished.
_UNFINISHED = "unfinished"


@dataclass(frozen=True, kw_only=True)
class PrepareOptions:
    """Settings of a preparation; equal ones on equal text give equal shards.

    Args:
        vocab_size: Number of pieces in the vocabulary (in each, if there are two), special ids
            included.
        tokenizer_type: Kind of SentencePiece model.
        joint_vocabulary: One vocabulary for both languages, or one for each.
        tokenizer_sentences: Most sentences to train a vocabulary on; if there are more, this many
            are drawn at random.
        max_length: Longest sentence in tokens; longer pairs are left out.
        shards: Number of training shards; if not given, a multiple of 8 with at most 250,000 pairs
            in each.
        seed: Decides which pair goes to which shard.

    Raises:
        ValueError: A value is out of range; the message names it.
        TypeError: A count is not an integer, or `joint_vocabulary` not True or False.
    """

    vocab_size: int = 8000
    tokenizer_type: ModelType = "unigram"
    joint_vocabulary: bool = True
    tokenizer_sentences: int = 1_000_000
    max_length: int = 256
    shards: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_size("vocab_size", self.vocab_size, FEWEST_PIECES)
        check_size("tokenizer_sentences", self.tokenizer_sentences)
        check_size("max_length", self.max_length, 2)
        check_size("seed", self.seed, 0)
        if self.shards is not None:
            check_size("shards", self.shards)
        check_choice("tokenizer_type", self.tokenizer_type, get_args(ModelType))
        check_flag("joint_vocabulary", self.joint_vocabulary)


def prepare(
    train: PairStream,
    directory: str | os.PathLike[str],
    *,
    valid: PairStream | None = None,
    tokenizers: tuple[Path, ...] = (),
    options: PrepareOptions | None = None,
    workers: int | None = None,
    say: Callable[[str], None] = print,
) -> CorpusRecord:
    """Tokenizes a corpus once, into shards that `train` streams.

    If it is called again after a kill, it resumes. The result depends on the text and on the
    options only, not on kills or on the number of workers.

    Args:
        train: Training pairs, or single texts.
        directory: Directory of the shards, created if missing.
        valid: Validation pairs or texts.
        tokenizers: Existing model files: one for both sides, or source and target; none to
            train new ones on the training pairs.
        options: How to prepare the corpus.
        workers: Number of parallel processes; the number of processors if not given.
        say: Takes a line of progress.

    Returns:
        The content of `manifest.json` in the directory.

    Raises:
        FileExistsError: The directory holds other files, or a corpus, finished or not, of other
            text or options.
        ValueError: A line of the text is unusable (names file and line), no pair is left, or an
            option does not fit the text; the unfinished preparation is removed.
        OSError: A file cannot be read or written.
    """
    options = options or PrepareOptions()
    directory = Path(directory)
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    workers = workers or os.cpu_count() or 1
    _check_directory(directory)
    for path in tokenizers:
        Tokenizer.load(path)
    begun = False
    try:
        with worker_processes(workers) as pool:
            streams = {"train": train, **({"valid": valid} if valid else {})}
            files = sorted({path for stream in streams.values() for path in stream.files})
            texts = dict(zip(files, pool.map(describe_text, files), strict=True))
            counts = {name: stream.count(texts) for name, stream in streams.items()}
            settings = {
                "options": dataclasses.asdict(options),
                "tokenizers": [_sha256(path) for path in tokenizers],
                **({SINGLE: True} if train.is_single else {}),
            }
            made_from = settings | {
                name: [dataclasses.asdict(texts[path]) for path in stream.files]
                for name, stream in streams.items()
            }
            if _is_finished(directory, made_from):
                say(f"{directory} is prepared already")
                return CorpusRecord.load(directory)
            begun = True
            names = _make_tokenizers(directory, train, tokenizers, options, say)
            force = Workforce(pool, workers, say)
            splits = {
                name: make_split(
                    name,
                    stream,
                    counts[name],
                    _piece_settings(name, directory, names, counts[name], options, stream),
                    directory,
                    force,
                )
                for name, stream in streams.items()
            }
    except ValueError:
        # The same text and options would fail again, so the directory is left free for others.
        if begun:
            _forget(directory)
        raise
    record = CorpusRecord(
        made_from=made_from,
        tokenizers={name: _sha256(directory / name) for name in names},
        train=splits["train"],
        valid=splits.get("valid"),
        training_text=_training_text(
            train,
            counts["train"],
            _piece_settings("train", directory, names, counts["train"], options, train),
            splits["train"],
        ),
    )
    record.save(directory)
    remove_partials(directory)
    shutil.rmtree(directory / _UNFINISHED)
    return record


def _check_directory(directory: Path) -> None:
    """Raises if a corpus cannot be prepared in the directory, before the text is read."""
    check_output(directory, is_directory=True)
    known = {RECORD, _UNFINISHED}
    names = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    if names and not names & known:
        raise FileExistsError(
            f"{directory} holds other files, such as {min(names)}: prepare into a new or empty "
            "directory"
        )


def _forget(directory: Path) -> None:
    """Removes a preparation that can never be finished."""
    tokenizers = (tokenizer_paths(directory, stem) for stem in (SHARED, SOURCE, TARGET))
    for path in chain(*tokenizers, directory.glob("*.tfrecord")):
        path.unlink(missing_ok=True)
    shutil.rmtree(directory / _UNFINISHED)


def _is_finished(directory: Path, made_from: dict[str, Any]) -> bool:
    """Returns whether all is done; raises `FileExistsError` if it was begun with other input."""
    unfinished = directory / _UNFINISHED
    path = unfinished / "made_from.json"
    finished = (directory / RECORD).exists()
    if finished:
        begun = CorpusRecord.load(directory).made_from
        shutil.rmtree(unfinished, ignore_errors=True)
    elif path.exists():
        begun = json.loads(path.read_text(encoding="utf-8"))
    else:
        unfinished.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(made_from))
        return False
    changed = [part for part in {*begun, *made_from} if begun.get(part) != made_from.get(part)]
    if changed:
        raise FileExistsError(
            f"{directory} was begun with other {' and '.join(sorted(changed))}: give the same "
            "text and options, or prepare into another directory"
        )
    return finished


def _training_text(
    stream: PairStream, num_pairs: int, settings: PieceSettings, split: Split
) -> TrainingText | None:
    """Describes the kept lines of an evenly spaced sample; None if none of them was kept."""
    longest = [shard.longest_source for shard in split.shards]
    sample = list(islice(stream.pairs(), 0, None, -(-num_pairs // SAMPLED_LINES)))
    kept = keep_pairs(settings, sample).pair_numbers
    if None in longest or not len(kept):
        return None
    # `TrainingText` holds lengths without eos.
    most = max(length for length in longest if length is not None) - 1
    return TrainingText.from_lines([sample[row][0] for row in kept], longest_source=most)


def _make_tokenizers(
    directory: Path,
    train: PairStream,
    given: tuple[Path, ...],
    options: PrepareOptions,
    say: Callable[[str], None],
) -> list[str]:
    """Trains or copies the tokenizers that do not exist yet; returns their file names."""
    is_joint = len(given) == 1 if given else options.joint_vocabulary or train.is_single
    opened = [Tokenizer.load(path) for path in given]
    stems = [SHARED] if is_joint else [SOURCE, TARGET]
    suffixes = [tokenizer.suffix for tokenizer in opened] or [SUFFIXES["sentencepiece"]] * len(
        stems
    )
    names = [stem + suffix for stem, suffix in zip(stems, suffixes, strict=True)]
    for side, name in enumerate(names):
        if (directory / name).exists():
            continue
        if opened:
            tokenizer = opened[side]
        else:
            say(f"training {name}")
            # The order in which `train` reads a corpus in memory, to give the same vocabulary.
            sentences = map(train.sentences, (0, 1) if is_joint else (side,))
            tokenizer = train_tokenizer(
                chain.from_iterable(sentences),
                options.vocab_size,
                options.tokenizer_type,
                max_sentences=options.tokenizer_sentences,
                # Any task on single texts can then be trained.
                has_mask=train.is_single,
            )
        tokenizer.save(directory / name)
    return names


def _piece_settings(
    split: str,
    directory: Path,
    tokenizers: list[str],
    num_pairs: int,
    options: PrepareOptions,
    stream: PairStream,
) -> PieceSettings:
    return PieceSettings(
        directory=directory / _UNFINISHED / split,
        lines=LINES_PER_PIECE,
        source_tokenizer=directory / tokenizers[0],
        target_tokenizer=directory / tokenizers[-1],
        max_length=options.max_length,
        num_shards=_num_shards(split, num_pairs, options),
        seed=options.seed,
        is_single=stream.is_single,
    )


def _num_shards(name: str, num_pairs: int, options: PrepareOptions) -> int:
    least = -(-num_pairs // PAIRS_PER_SHARD)
    if name == "valid":
        return least
    return options.shards or -(-least // _SHARDS_MULTIPLE) * _SHARDS_MULTIPLE


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
