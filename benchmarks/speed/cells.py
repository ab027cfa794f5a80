"""One cell of the table: a model, precision, search and batch, on which the engines take turns."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from driver import measure_turns

from .processes import Worker
from .sizes import Size

OURS = "ours"
# CTranslate2 translating parts of the batch at the same time, each on one thread. It stands beside
# the peers: one translation of the whole batch is what is compared.
SPLIT = "split"
# A column beside the comparison: once more than this it is measured only once.
_SLOW_SECONDS = 5.0
_COLUMN_ROUNDS = 3
_PROBES = 256
_ROUNDED_SHARE = 0.02


@dataclasses.dataclass(frozen=True)
class Cell:
    """What is translated in a cell.

    Attributes:
        size: The model.
        batch: Sentences at a time.
        search: "greedy", or "beam" and the beam size, as in "beam4".
        precision: "float32" or "int8".
    """

    size: Size
    batch: int
    search: str
    precision: str

    @property
    def beam_size(self) -> int:
        """Hypotheses for each sentence."""
        return beam_size(self.search)

    @property
    def request(self) -> dict[str, Any]:
        """The arguments of an engine's `decode`."""
        return {
            "rows": self.size.sources(self.batch),
            "beam_size": self.beam_size,
            "length": self.size.forced_tokens,
        }

    @property
    def tokens(self) -> int:
        """Tokens of all translations together; of a text's, those of their sources."""
        if self.size.text is None:
            return self.batch * self.size.target_tokens
        return sum(len(row) + 1 for row in self.size.sources(self.batch))


def beam_size(search: str) -> int:
    """Returns the beam size of a search's name.

    Raises:
        ValueError: It is neither "greedy" nor "beam" and a number.
    """
    if search == "greedy":
        return 1
    number = search.removeprefix("beam")
    if number == search or not number.isdecimal() or int(number) < 2:
        raise ValueError(f"search must be greedy, or beam and a size as in beam4, got {search!r}.")
    return int(number)


def measure_cell(cell: Cell, workers: Mapping[str, Worker], rounds: int) -> dict[str, Any]:
    """Lets our engine and the peers take turns; all have the cell's model loaded.

    Args:
        cell: What to translate.
        workers: `OURS`, one or more peers, and maybe `SPLIT`.
        rounds: Turns of each.

    Returns:
        `compare`'s fields, and which cell it is; "ratio_processor", the ratio of processor seconds
        in place of wall time, to the peer that needs the fewest.
    """
    seconds, used = measure_turns(taking_part(workers, cell.batch), cell.request, rounds)
    used.pop(SPLIT, None)
    return {
        "size": cell.size.name,
        "length": cell.size.text or cell.size.source_tokens,
        "batch": cell.batch,
        "search": cell.search,
        "precision": cell.precision,
        **compare(seconds, cell.tokens),
        "processor_seconds": used,
        "ratio_processor": compare(used, cell.tokens)["ratio"],
    }


def taking_part(workers: Mapping[str, Worker], batch: int) -> dict[str, Worker]:
    """Returns the engines that have something to do: a batch of one cannot be split."""
    return {name: worker for name, worker in workers.items() if name != SPLIT or batch > 1}


def compare(seconds: Mapping[str, Sequence[float]], amount: float) -> dict[str, Any]:
    """Compares the medians of our engine and of the fastest peer.

    Args:
        seconds: Seconds of each round for `OURS`, each peer, and maybe `SPLIT`.
        amount: What was done in a round: tokens or sentences.

    Returns:
        "ours", "peer" (amount a second), "ratio" of the two, "ratio_low" and "ratio_high" (the
        least and most of any round), "peer_name", "peers" (all of them) and "seconds"; for `SPLIT`
        "split" (amount a second) and "ratio_split", ours over it.
    """
    rates = {name: amount / statistics.median(values) for name, values in seconds.items()}
    ours, split = rates.pop(OURS), rates.pop(SPLIT, None)
    best = max(rates, key=lambda name: rates[name])
    ratios = [peer / mine for mine, peer in zip(seconds[OURS], seconds[best], strict=True)]
    return {
        "ours": ours,
        "peer": rates[best],
        "ratio": ours / rates[best],
        "ratio_low": min(ratios),
        "ratio_high": max(ratios),
        "peer_name": best,
        "peers": rates,
        "seconds": {name: list(values) for name, values in seconds.items()},
        **({} if split is None else {"split": split, "ratio_split": ours / split}),
    }


def measure_column(cell: Cell, worker: Worker) -> tuple[float, list[list[int]]]:
    """Returns the tokens a second of an engine outside the comparison, and its ids."""
    ids = worker.ask("decode", **cell.request)

    def measure() -> float:
        return worker.ask("measure", **cell.request, times=1)["seconds"]

    seconds = measure()
    if seconds < _SLOW_SECONDS:
        seconds = statistics.median(measure() for _ in range(_COLUMN_ROUNDS))
    worker.settle()
    return cell.tokens / seconds, ids


def agreement(ids: Sequence[Sequence[int]], reference: Sequence[Sequence[int]]) -> float:
    """Returns the share of tokens that are the reference's at the same place."""
    pairs = [
        pair
        for row, expected in zip(ids, reference, strict=True)
        for pair in zip(row, expected, strict=True)
    ]
    return sum(found == wanted for found, wanted in pairs) / len(pairs)


def first_tokens(size: Size, worker: Worker) -> list[list[int]]:
    """Returns the first token that an engine gives each of many sentences, greedily.

    Later tokens tell less about precision: once two translations differ, they go on differing.
    """
    return worker.ask("decode", rows=size.sources(_PROBES), beam_size=1, length=1)


def check_float32(cell: Cell, ours: Worker, peer: Worker) -> tuple[list[list[int]], float]:
    """Checks that both engines give the same ids in float32, as `check_ids` does.

    Returns:
        Our ids, and the share of sentences for which the peer's are the same.

    Raises:
        ValueError: Too many differ, or a translation has another length than was asked for.
    """
    found, expected = (worker.ask("decode", **cell.request) for worker in (ours, peer))
    place = f"{cell.size.name}, {cell.search}, batch {cell.batch}, float32"
    ids = {ours.name: found, peer.name: expected}
    return found, check_ids(place, ids, cell.size.forced_tokens)


def check_ids(
    place: str,
    ids: Mapping[str, list[list[int]]],
    length: int | None,
    most_different: float = _ROUNDED_SHARE,
) -> float:
    """Checks that two engines gave the same ids of the right length.

    Of hypotheses as good as equal, rounding decides which one a search loses: two sentences in a
    hundred may differ, and it is reported how many do.

    Args:
        place: What messages call the cell.
        ids: Rows of both engines, ours first, by their names.
        length: Tokens of each row; any if None.
        most_different: The share of rows that may differ.

    Returns:
        The share of equal rows.

    Raises:
        ValueError: More differ, or a row has another length.
    """
    for name, rows in ids.items():
        wrong = [len(row) for row in rows if length is not None and len(row) != length]
        if wrong:
            raise ValueError(f"{place}: {name} gave {wrong[0]} tokens instead of {length}.")
    (ours, found), (peer, expected) = ids.items()
    different = [number for number, row in enumerate(found) if row != expected[number]]
    if len(different) > most_different * len(found):
        row = different[0]
        raise ValueError(
            f"{place}: {len(different)} of {len(found)} sentences differ, first number {row}:\n"
            f"{ours}: {found[row]}\n{peer}: {expected[row]}"
        )
    return 1 - len(different) / len(found)
