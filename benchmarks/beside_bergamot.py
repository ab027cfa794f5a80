"""Compares translation with Bergamot, Marian as browsers run it, on one file of weights.

    python benchmarks/beside_bergamot.py --train train.en train.de --source test.en
        --pymarian ../marian/bin/pymarian --bergamot-python ../bergamot/bin/python

Marian makes a random model of the form of browsers' translators: 6 encoder and 2 decoder layers,
256, 1,536, 8 heads, 32,000 ids, SSRU in the decoder. Bergamot reads that file, and our artefact is
made of it by `keras-transformer import` and `export`, both in int8, with and without a shortlist
learnt from the training text, the same in both. The engines take turns on one thread, in processes
of their own. Random weights end no translation: the longest that is allowed is so many target
tokens for each source token, and rates are pieces written a second. pymarian and bergamot need
environments of their own; bergamot's has Python 3.10 or an older one.
"""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from driver import count, figures, items, measure_turns, parser_of, publish, table, tell
from marian.engine import Setting
from marian.model import Model
from speed.machine import describe_machine
from speed.processes import Worker

from keras_transformer import read_lines, read_parallel

_PACKAGES = ("onnxruntime", "numpy", "sentencepiece")
_NAMES = ("ours", "bergamot")
# Far more work than a call takes to begin, and few enough for a turn of seconds.
_MOST_ALONE = 100


@dataclasses.dataclass(frozen=True)
class Cell:
    """What was measured.

    Attributes:
        listed: Whether a shortlist was used.
        beam_size: Of the search.
        batch: Sentences a call.
        sentences: How many were translated.
        equal: Share of the translations that are the same text.
        rates: By engine, pieces a second of each round.
        cpu_rates: The same of processor time.
    """

    listed: bool
    beam_size: int
    batch: int
    sentences: int
    equal: float
    rates: dict[str, list[float]]
    cpu_rates: dict[str, list[float]]

    def ratios(self) -> list[float]:
        """Returns ours over Bergamot's in processor time, round by round."""
        return [ours / peer for ours, peer in zip(*self.cpu_rates.values(), strict=True)]


def measure(
    workers: dict[str, Worker],
    model: Model,
    setting: Setting,
    texts: list[str],
    batch: int,
    rounds: int,
) -> Cell:
    """Lets the engines take turns on texts."""
    texts = texts if batch > 1 else texts[:_MOST_ALONE]
    pieces, written = model.pieces(), {}
    for name, worker in workers.items():
        worker.ask("load", folder=str(model.folder), setting=list(setting))
        written[name] = worker.ask("translate", texts=texts, batch=batch)
    seconds, cpu = measure_turns(workers, {"texts": texts, "batch": batch}, rounds)
    counted = {name: sum(map(len, pieces.encode(found))) for name, found in written.items()}
    same = sum(ours == peer for ours, peer in zip(*written.values(), strict=True))
    return Cell(
        setting.listed,
        setting.beam_size,
        batch,
        len(texts),
        same / len(texts),
        {name: [counted[name] / taken for taken in seconds[name]] for name in workers},
        {name: [counted[name] / taken for taken in cpu[name]] for name in workers},
    )


def row(cell: Cell) -> list[str]:
    """Writes a cell as a row of the table."""
    ours, peer = (median(cell.rates[name]) for name in _NAMES)
    ratios = cell.ratios()
    found = ["yes" if cell.listed else "no", str(cell.beam_size), str(cell.batch)]
    found += [f"{ours:,.0f}", f"{peer:,.0f}"]
    spread = f"({min(ratios):.2f}–{max(ratios):.2f})"
    return [*found, f"**{median(ratios):.2f}** {spread}", f"{cell.equal:.0%}"]


def report(cells: Sequence[Cell]) -> str:
    """Writes the cells as a table."""
    heads = ["shortlist", "beam", "sentences a call", "ours", "Bergamot", "ratio (rounds)"]
    return table([*heads, "same text"], map(row, cells))


def run(given: argparse.Namespace, cells: list[Cell]) -> None:
    """Adds the cells as they are measured."""
    pairs, texts = read_parallel(*given.train), read_lines(given.source)[: given.sentences]
    model = Model.make(given.work / "model", pairs, given.pymarian, given.candidates)
    with (
        Worker("marian.engines.ours", name="ours") as ours,
        Worker("marian.engines.browser", python=given.bergamot_python, name="bergamot") as peer,
    ):
        workers = dict(zip(_NAMES, (ours, peer), strict=True))
        for listed in (True, False):
            for beam_size in given.beam_size:
                for batch in given.batch:
                    setting = Setting(listed, beam_size, given.ratio)
                    cells.append(measure(workers, model, setting, texts, batch, given.repeats))
                    tell(" | ".join(row(cells[-1])))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    what, work = __doc__.splitlines()[0], Path("build/bergamot")
    parser = parser_of(what, "repeats", "json", "work", repeats=5, work=work)
    parser.add_argument("--train", nargs=2, required=True, type=Path, help="Parallel text.")
    parser.add_argument("--source", required=True, type=Path, help="Text to translate.")
    parser.add_argument("--pymarian", required=True, help="Marian's command.")
    parser.add_argument("--bergamot-python", required=True, help="Interpreter that has bergamot.")
    parser.add_argument("--sentences", type=count, default=400)
    parser.add_argument("--beam-size", type=items(count), default=[1, 4])
    parser.add_argument("--batch", type=items(count), default=[1, 400])
    parser.add_argument("--ratio", type=float, default=1.2, help="Target over source tokens.")
    parser.add_argument("--candidates", type=count, default=50)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    given = parse(arguments)
    machine = describe_machine(_PACKAGES)
    with figures(__file__, given.json, machine=machine, cells=[]) as result:
        run(given, result["cells"])
    publish(report(result["cells"]), given.json)


if __name__ == "__main__":
    main()
