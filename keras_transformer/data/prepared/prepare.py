"""The preparation of a corpus: shards of ids, a vocabulary and a record, made of streams of text.

Text is tokenized once, piece by piece, by parallel processes. Completed parts are kept: a killed
preparation resumes where it was, and writes the same bytes as an uninterrupted one.
"""

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from keras_transformer.cores import available_cores
from keras_transformer.data.prepared.options import PrepareOptions
from keras_transformer.data.prepared.pieces import PieceSettings, keep_pairs
from keras_transformer.data.prepared.processes import worker_processes
from keras_transformer.data.prepared.record import RECORD, SINGLE, CorpusRecord, Split
from keras_transformer.data.prepared.splitting import Workforce, make_split
from keras_transformer.data.prepared.vocabularies import make_tokenizers
from keras_transformer.data.sources.files import require_rereadable
from keras_transformer.data.sources.streams import ChangedPairs, PairStream, describe_text
from keras_transformer.markup.soft_terms.extraction import extract_terms, sampled_places
from keras_transformer.markup.soft_terms.pairs import annotated_pairs
from keras_transformer.noise.pairs import noisy_pairs, read_shares
from keras_transformer.text.tokenizer import Tokenizer
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
        workers: Number of parallel processes; one for each core that may be used if not given.
        say: Takes a line of progress.

    Returns:
        The content of `manifest.json` in the directory.

    Raises:
        FileExistsError: The directory holds other files, or a corpus, finished or not, of other
            text or options.
        ValueError: A line of the text is unusable (names file and line), no pair is left, or an
            option does not fit the text; the unfinished preparation is removed. Or a file is a
            pipe, which cannot be read repeatedly.
        OSError: A file cannot be read or written.
    """
    options = options or PrepareOptions()
    directory = Path(directory)
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    workers = workers or available_cores()
    _check_directory(directory)
    opened = [Tokenizer.load(path) for path in tokenizers]
    if options.num_sentinels and (tokenizers or not train.is_single):
        raise ValueError(
            f"num_sentinels={options.num_sentinels} is for a vocabulary that is trained on single "
            "texts: leave it out for pairs, and where there are tokenizers."
        )
    if options.noise:
        if train.is_single:
            raise ValueError(
                f"noise={' '.join(options.noise)} is put into pairs, and these are single texts: "
                "leave it out."
            )
        shares = read_shares(options.noise)
        train = ChangedPairs(train, partial(noisy_pairs, shares=shares, seed=options.seed))
    if options.soft_terms:
        _check_soft_terms(options.soft_terms, train, opened)
    streams = {"train": train, **({"valid": valid} if valid else {})}
    files = sorted({path for stream in streams.values() for path in stream.files})
    require_rereadable(files)
    for stream in streams.values():
        for note in stream.notes:
            say(note)
    begun = False
    try:
        with worker_processes(workers) as pool:
            texts = dict(zip(files, pool.map(describe_text, files), strict=True))
            counts = {name: stream.count(texts) for name, stream in streams.items()}
            settings = {
                "options": options.to_dict(),
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
            if options.soft_terms:
                train = streams["train"] = _with_soft_terms(train, counts["train"], options, say)
            names = make_tokenizers(directory, train, tokenizers, options, say)
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
            options.soft_terms,
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


def _check_soft_terms(share: float, train: PairStream, tokenizers: Sequence[Tokenizer]) -> None:
    if train.is_single:
        raise ValueError(
            f"soft_terms={share} are translations of terms, and these are single texts: leave it "
            "out."
        )
    if tokenizers and not tokenizers[0].special_ids.term_marks:
        raise ValueError(
            f"soft_terms={share} needs a vocabulary with marks of terms, and the given one has "
            "none: leave soft_terms or the tokenizer out."
        )


def _with_soft_terms(
    train: PairStream, num_pairs: int, options: PrepareOptions, say: Callable[[str], None]
) -> PairStream:
    """Returns training pairs with translations beside terms of their own, as `train` makes them."""
    places = set(sampled_places(num_pairs))
    sample = [pair for place, pair in enumerate(train.pairs()) if place in places]
    terms = extract_terms([source for source, _ in sample], [target for _, target in sample])
    say(f"soft terms: {len(terms):,} known")
    share, seed = options.soft_terms, options.seed
    return ChangedPairs(train, partial(annotated_pairs, terms=terms, share=share, seed=seed))


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
    stream: PairStream, num_pairs: int, settings: PieceSettings, split: Split, soft_terms: float
) -> TrainingText | None:
    """Describes the kept lines of an evenly spaced sample; None if none of them was kept."""
    longest = [shard.longest_source for shard in split.shards]
    sample = list(islice(stream.pairs(), 0, None, -(-num_pairs // SAMPLED_LINES)))
    kept = keep_pairs(settings, sample).pair_numbers
    if None in longest or not len(kept):
        return None
    # `TrainingText` holds lengths without eos.
    most = max(length for length in longest if length is not None) - 1
    lines = [sample[row][0] for row in kept]
    return dataclasses.replace(
        TrainingText.from_lines(lines, longest_source=most), soft_terms=soft_terms
    )


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
