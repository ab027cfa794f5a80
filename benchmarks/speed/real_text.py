"""The row on real text: both engines translate a test set, text to text, with a trained model and
without forced lengths.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from driver import load_all, take_turns

from keras_transformer.data.sources.files import read_lines
from keras_transformer.evaluation import corpus_scores

from . import artefacts
from .cells import OURS, beam_size, compare
from .processes import Worker


@dataclasses.dataclass(frozen=True)
class RealText:
    """A trained run and what it is to translate.

    Attributes:
        run: Directory of the run.
        source: File of source sentences, one a line, plain or gzip.
        reference: File of their translations.
        list_texts: Two files of parallel text that shortlists are learnt from.
    """

    run: Path
    source: Path
    reference: Path
    list_texts: tuple[Path, ...] = ()


def measure_texts(
    text: RealText,
    workers: Mapping[str, Worker],
    work: Path,
    searches: Sequence[str],
    precisions: Sequence[str],
    rounds: int,
    target: str = artefacts.FASTEST,
) -> Iterator[dict[str, Any]]:
    """Yields a row for each search and precision: `compare`'s fields in sentences a second, "bleu"
    of "ours" and "peer", and "same", the share of sentences with equal translations.

    Raises:
        ValueError: The files do not fit, or, once all is measured, float32 translations differ.
    """
    texts, references = read_lines(text.source), read_lines(text.reference)
    if len(texts) != len(references):
        raise ValueError(
            f"{text.source} has {len(texts)} lines and {text.reference} {len(references)}: "
            "line n of the one must translate line n of the other."
        )
    folder = artefacts.run_folder(work, text.run, text.list_texts)
    parts = artefacts.both(precisions, target)
    artefacts.make(folder, parts, run=text.run, texts=text.list_texts)
    different = []
    for precision, search in itertools.product(precisions, searches):
        load_all(workers, folder, precision)
        arguments = {"texts": texts, "beam_size": beam_size(search)}
        scores = _scores(workers, arguments, references)
        if precision == "float32" and scores["same"] < 1:
            different.append(f"{search}: {1 - scores['same']:.2%} of {len(texts)} sentences")
        yield {
            "search": search,
            "precision": precision,
            "sentences": len(texts),
            **_time(workers, arguments, len(texts), rounds),
            **scores,
        }
    if different:
        raise ValueError(f"float32 translations differ, {', '.join(different)}.")


def _time(
    workers: Mapping[str, Worker], arguments: dict[str, Any], sentences: int, rounds: int
) -> dict[str, Any]:
    def measure(worker: Worker) -> Callable[[int], float]:
        return lambda times: worker.ask("measure_texts", **arguments)

    return compare(
        take_turns({name: measure(w) for name, w in workers.items()}, rounds, workers), sentences
    )


def _scores(
    workers: Mapping[str, Worker], arguments: dict[str, Any], references: list[str]
) -> dict[str, Any]:
    """All peers give the same translations: one of them is scored."""
    peer = next(worker for name, worker in workers.items() if name != OURS)
    found = {
        "ours": workers[OURS].ask("translate", **arguments),
        "peer": peer.ask("translate", **arguments),
    }
    equal = sum(a == b for a, b in zip(found["ours"], found["peer"], strict=True))
    return {
        "bleu": {name: corpus_scores(texts, references).bleu for name, texts in found.items()},
        "same": equal / len(references),
    }
