"""How well engines predict real text with a trained decoder, in each precision."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from driver import load_all
from peers.names import library_of
from peers.peer import having
from speed.cells import OURS
from speed.processes import Worker
from speed.text_lengths import read_sentences

from keras_transformer.runs.run_directory import RunDirectory

from .peers import PEERS


def read_rows(run: Path, path: Path, most: int) -> list[list[int]]:
    """Returns the ids of the first lines of a file in a trained run's vocabulary."""
    tokenizer, _ = RunDirectory(run).load_tokenizers()
    return [list(map(int, row)) for row in tokenizer.encode(read_sentences(path)[:most])]


def measure_quality(
    rows: Sequence[list[int]],
    precisions: Sequence[str],
    workers: Mapping[str, Worker],
    folder: Path,
) -> Iterator[dict[str, Any]]:
    """Measures the perplexity of texts.

    Args:
        rows: The texts' ids.
        precisions: Those to measure.
        workers: `OURS` and peers.
        folder: From `Maker.make`.

    Yields:
        "precision" and "perplexity" by library: exp of the mean nats a token.
    """
    tokens = sum(map(len, rows))
    for precision in precisions:
        present = having(workers, PEERS, folder, precision)
        load_all(present, folder, precision)
        nats = {name: worker.ask("nats", rows=rows) for name, worker in present.items()}
        yield {
            "precision": precision,
            "perplexity": {
                name if name == OURS else library_of(name): math.exp(value / tokens)
                for name, value in nats.items()
            },
        }
