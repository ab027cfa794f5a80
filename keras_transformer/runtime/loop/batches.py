"""Batches of sentences of similar length within a budget of tokens."""

import dataclasses
from collections.abc import Callable, Sequence

IdRows = Sequence[Sequence[int]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class MemoryBound:
    """A limit on the memory that the rows of one batch take together.

    Args:
        limit: Bytes, at least 1.
        bytes_per_row: Bytes that one row needs, given the batch's source length and target length
            in tokens; it must not shrink when a length grows.
        target_lengths: Most tokens generated for each sentence, eos included.

    Raises:
        ValueError: `limit` is below 1.
    """

    limit: int
    bytes_per_row: Callable[[int, int], int]
    target_lengths: Sequence[int]

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError(f"limit must be at least 1 byte, got {self.limit}.")


def plan_batches(
    source_lengths: Sequence[int],
    *,
    batch_tokens: int,
    rows_per_sentence: int = 1,
    memory: MemoryBound | None = None,
    workers: int = 1,
    least: int = 1,
    spread: int | None = None,
) -> list[list[int]]:
    """Groups sentences of similar length; the same lengths always give the same batches.

    Sentences are taken longest first, equal ones in their order, and each batch takes as many as
    fit. All batches together hold at most `batch_tokens / rows_per_sentence * log(longest /
    shortest)` tokens of padding, however many sentences there are. Several workers then share the
    sentences of the last batches evenly: no worker waits long for another.

    Args:
        source_lengths: Tokens of each sentence, eos included. A sentence of eos alone is empty and
            is put into no batch.
        batch_tokens: Most source tokens of a batch, padding included, counted once for every row.
        rows_per_sentence: Rows that the decoder keeps for each sentence: beams or samples.
        memory: A second budget beside `batch_tokens`; none if None.
        workers: Batches that are translated at the same time.
        least: A batch is not made smaller than this many sentences to keep workers busy.
        spread: Most tokens by which the longest sentence of a batch exceeds the shortest; no
            limit if None.

    Returns:
        Numbers of sentences, the longest first in each batch and, with one worker, over all
        batches. A batch exceeds its budget only if it is a single sentence.

    Raises:
        ValueError: `batch_tokens` or `rows_per_sentence` is below 1, a length is below 1, or
            `memory` has another number of sentences.
    """
    _check(source_lengths, batch_tokens, rows_per_sentence, memory)

    def fits(batch: list[int]) -> bool:
        # Longest first: the first sentence's length is the batch's.
        source_length, rows = source_lengths[batch[0]], len(batch) * rows_per_sentence
        if spread is not None and source_length - source_lengths[batch[-1]] > spread:
            return False
        if rows * source_length > batch_tokens:
            return False
        if memory is None:
            return True
        target_length = max(memory.target_lengths[number] for number in batch)
        return rows * memory.bytes_per_row(source_length, target_length) <= memory.limit

    filled = [number for number, length in enumerate(source_lengths) if length > 1]
    if len(filled) < 2:
        return [filled] if filled else []
    batches: list[list[int]] = []
    for number in sorted(filled, key=lambda number: -source_lengths[number]):
        if batches and fits([*batches[-1], number]):
            batches[-1].append(number)
        else:
            batches.append([number])
    # The batches of the last round: no more than there are workers.
    last = len(batches) % workers or min(workers, len(batches))
    full, rest = batches[: len(batches) - last], batches[len(batches) - last :]
    shared = _share([number for batch in rest for number in batch], workers, least)
    # Sentences of different lengths may need more room together than apart.
    return [*full, *shared] if 0 < last <= len(shared) and all(map(fits, shared)) else batches


def plan_by_prefix(prefix_lengths: Sequence[int], spread: int) -> list[list[int]]:
    """Groups sentences such that the prefixes of a group differ by at most `spread` tokens.

    A batch reads as many tokens in one run as its shortest prefix has; the others are forced step
    by step, while its shorter ones are continued.

    Args:
        prefix_lengths: Tokens that each translation begins with.
        spread: At least 0.

    Returns:
        Numbers of sentences in their order, the group with the shortest prefixes first.
    """
    groups: list[list[int]] = []
    for number in sorted(range(len(prefix_lengths)), key=lambda number: prefix_lengths[number]):
        if groups and prefix_lengths[number] - prefix_lengths[groups[-1][0]] <= spread:
            groups[-1].append(number)
        else:
            groups.append([number])
    return [sorted(group) for group in groups]


def _share(numbers: list[int], workers: int, least: int) -> list[list[int]]:
    """Deals sentences out in turn, long and short alike to each worker."""
    parts = max(1, min(workers, len(numbers) // least))
    return [numbers[part::parts] for part in range(parts)]


def _check(
    source_lengths: Sequence[int],
    batch_tokens: int,
    rows_per_sentence: int,
    memory: MemoryBound | None,
) -> None:
    for name, value in (("batch_tokens", batch_tokens), ("rows_per_sentence", rows_per_sentence)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}.")
    shortest = min(source_lengths, default=1)
    if shortest < 1:
        raise ValueError(f"source_lengths count eos, so they must be at least 1, got {shortest}.")
    if memory is not None and len(memory.target_lengths) != len(source_lengths):
        raise ValueError(
            f"memory has {len(memory.target_lengths)} target_lengths for {len(source_lengths)} "
            "sentences: give one for each."
        )
