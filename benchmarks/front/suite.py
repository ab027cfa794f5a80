"""Measures trained models on a test set: BLEU over all of it, and sentences a second of ours and of
CTranslate2, which take turns.
"""

import itertools
import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driver import take_turns
from speed import artefacts
from speed.processes import Worker
from speed.shortlists import split

from keras_transformer.data.sources.files import read_lines
from keras_transformer.evaluation import corpus_scores

from .points import OURS, Point

CTRANSLATE2 = "CTranslate2"
# On processors; it computes in others on GPUs.
_THEIR_PRECISIONS = ("float32", "int8")


@dataclass(frozen=True)
class Measurement:
    """What is measured of every run.

    Attributes:
        sources: The test set's lines.
        references: Their translations.
        precisions: Of "float32", "bfloat16" and "int8", with or without a shortlist, as in
            "int8+list50".
        beam_sizes: Of the searches.
        batches: Sentences at a time.
        timed: How many sentences, evenly spread, the speed is measured on.
        rounds: Turns of each engine.
        target: What our graphs are exported for.
        list_texts: Two files of parallel text that shortlists are learnt from, or none.
    """

    sources: Sequence[str]
    references: Sequence[str]
    precisions: Sequence[str]
    beam_sizes: Sequence[int]
    batches: Sequence[int]
    timed: int
    rounds: int
    target: str
    list_texts: Sequence[Path] = ()

    @classmethod
    def of_files(cls, source: Path, reference: Path, **fields: Any) -> "Measurement":
        """Reads a test set.

        Raises:
            ValueError: The files differ in lines.
        """
        sources, references = read_lines(source), read_lines(reference)
        if len(sources) != len(references):
            raise ValueError(
                f"{source} has {len(sources)} lines and {reference} {len(references)}: line n of "
                "the one must translate line n of the other."
            )
        return cls(sources, references, **fields)

    def points(self, run: Path, workers: Mapping[str, Worker], work: Path) -> Iterator[Point]:
        """Yields the points of a run, as they are measured.

        Args:
            run: Directory of a finished run.
            workers: The engines by their names, ours among them.
            work: Where exports are kept.
        """
        folder = artefacts.run_folder(work, run, self.list_texts)
        engines_of = {
            precision: {
                name: worker
                for name, worker in workers.items()
                if name != CTRANSLATE2 or _ctranslate2_has(run, precision)
            }
            for precision in self.precisions
        }
        parts = [artefacts.ours(precision, self.target) for precision in self.precisions]
        parts += [
            artefacts.peers(precision)
            for precision, engines in engines_of.items()
            if CTRANSLATE2 in engines
        ]
        artefacts.make(folder, parts, run=run, texts=self.list_texts)
        for precision, engines in engines_of.items():
            for engine in engines.values():
                engine.ask("load", folder=str(folder), precision=precision)
            for beam_size in self.beam_sizes:
                yield from self._of_search(run.resolve().name, engines, precision, beam_size)

    def _of_search(
        self, model: str, engines: Mapping[str, Worker], precision: str, beam_size: int
    ) -> Iterator[Point]:
        bleu = {
            name: corpus_scores(
                engine.ask("translate", texts=self.sources, beam_size=beam_size), self.references
            ).bleu
            for name, engine in engines.items()
        }
        step = max(1, len(self.sources) // self.timed)
        texts = self.sources[::step][: self.timed]
        for batch in self.batches:
            request = {"texts": texts, "beam_size": beam_size, "batch": batch}
            measures = {name: _timer(engine, request) for name, engine in engines.items()}
            for name, seconds in take_turns(measures, self.rounds, engines).items():
                yield Point(
                    model=model,
                    engine=name,
                    precision=precision,
                    beam_size=beam_size,
                    batch=batch,
                    bleu=bleu[name],
                    rate=len(texts) / statistics.median(seconds),
                    lowest=len(texts) / max(seconds),
                    highest=len(texts) / min(seconds),
                )


def names_of(runs: Sequence[Path]) -> list[str]:
    """Returns the runs' names, by which points are told apart.

    Raises:
        ValueError: Two runs have the same name.
    """
    names = [run.resolve().name for run in runs]
    for one, other in itertools.combinations(names, 2):
        if one == other:
            raise ValueError(f"two runs are called {one!r}: rename the directory of one of them.")
    return names


def engines(target: str, with_peer: bool) -> dict[str, Worker]:
    """Starts the engines, each with one thread."""
    started = {OURS: Worker("speed.engines.ours", target, "1", name=OURS)}
    if with_peer:
        started[CTRANSLATE2] = Worker("speed.engines.peer", "1", "1", name=CTRANSLATE2)
    return started


def _timer(engine: Worker, request: dict[str, Any]) -> Callable[[int], float]:
    def seconds(times: int) -> float:
        return statistics.fmean(engine.ask("measure_texts", **request) for _ in range(times))

    return seconds


def _ctranslate2_has(run: Path, precision: str) -> bool:
    """Whether CTranslate2 has such a model, its decoders with self-attention, in a precision."""
    if split(precision)[0] not in _THEIR_PRECISIONS:
        return False
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    return not config.get("decoder_recurrence")
