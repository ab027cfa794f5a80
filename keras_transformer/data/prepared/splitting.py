"""The shards of one split of a corpus: pieces of text are tokenized, then joined.

Every file gets its name only when it is complete, so a file that exists is done and is not made
again.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.data.encoding.id_pairs import (
    EncodedPairs,
    FilterReport,
    TextReport,
    require_pairs,
)
from keras_transformer.data.prepared.pieces import (
    PieceSettings,
    read_dropped,
    read_segments,
    tokenize_piece,
)
from keras_transformer.data.prepared.processes import Call, run_tasks
from keras_transformer.data.prepared.record import Shard, Split
from keras_transformer.data.sources.streams import PairStream
from keras_transformer.whole_files import whole_file, write_text


@dataclass(frozen=True)
class Workforce:
    """The processes that do the work, and a function that reports progress.

    Attributes:
        pool: The processes.
        workers: Number of processes.
        say: Takes a line of progress.
    """

    pool: ProcessPoolExecutor
    workers: int
    say: Callable[[str], None]

    def run(self, title: str, total: int, tasks: Iterator[Call]) -> None:
        """Runs the tasks; those of the `total` parts that have no task are already done."""
        told = -1
        for done, _ in enumerate(run_tasks(self.pool, self.workers, tasks), start=1):
            tenth = done * 10 // total
            if tenth > told:
                told = tenth
                self.say(f"{title}: {done:,} of {total:,}")


def make_split(
    name: str,
    stream: PairStream,
    num_pairs: int,
    settings: PieceSettings,
    directory: Path,
    force: Workforce,
) -> Split:
    """Turns a stream of pairs into shards.

    Args:
        name: "train" or "valid", the prefix of the shards' names.
        stream: The pairs.
        num_pairs: Number of pairs.
        settings: How to make pieces.
        directory: Directory of the shards.
        force: The processes that do the work.

    Raises:
        ValueError: A line is unusable, or every pair was dropped.
    """
    settings.directory.mkdir(exist_ok=True)
    pieces = [settings.path(number) for number in range(-(-num_pairs // settings.lines))]
    force.run(f"{name}, pieces tokenized", len(pieces), _piece_tasks(stream, pieces, settings))
    empty, too_long = np.sum([read_dropped(path) for path in pieces], axis=0).tolist()
    kept = num_pairs - empty - too_long
    report_class = TextReport if settings.is_single else FilterReport
    report = report_class(num_pairs, kept, empty, too_long, settings.max_length)
    require_pairs(report, ", ".join(map(str, stream.files)))

    total = settings.num_shards
    shards = [directory / f"{name}-{number:05d}-of-{total:05d}.tfrecord" for number in range(total)]
    records = [settings.directory / f"{path.name}.json" for path in shards]
    tasks: Iterator[Call] = (
        (put_together, (settings, len(pieces), number, shards[number], records[number]))
        for number in range(total)
        if not records[number].exists()
    )
    force.run(f"{name}, shards written", total, tasks)
    return Split(report, tuple(Shard.from_dict(_read_json(path)) for path in records))


def put_together(
    settings: PieceSettings, num_pieces: int, number: int, path: Path, record: Path
) -> None:
    """Writes shard `number` from all pieces, then its description."""
    # Imported here, so that processes that only tokenize stay small, without TensorFlow.
    from keras_transformer.data.prepared.shards import write_shard

    pairs = read_segments(settings, num_pieces, number)
    with whole_file(path) as temporary:
        write_shard(temporary, pairs)
    shard = describe_shard(path, pairs)
    write_text(record, json.dumps(dataclasses.asdict(shard)))


def describe_shard(path: Path, pairs: EncodedPairs) -> Shard:
    """Returns the description of a shard that holds `pairs`."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    longest, counts = np.unique(
        np.maximum(pairs.source_lengths, pairs.target_lengths), return_counts=True
    )
    return Shard(
        file=path.name,
        bytes=path.stat().st_size,
        sha256=sha256,
        pairs=len(pairs),
        source_tokens=int(pairs.source_lengths.sum()),
        target_tokens=int(pairs.target_lengths.sum()),
        longest=tuple(longest.tolist()),
        counts=tuple(counts.tolist()),
        longest_source=int(pairs.source_lengths.max()) if len(pairs) else 0,
    )


def _piece_tasks(stream: PairStream, pieces: list[Path], settings: PieceSettings) -> Iterator[Call]:
    if all(path.exists() for path in pieces):
        return
    pairs = stream.pairs()
    blocks = iter(partial(lambda: list(islice(pairs, settings.lines))), [])
    for number, block in enumerate(blocks):
        if not pieces[number].exists():
            yield tokenize_piece, (settings, number, block)


def _read_json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
