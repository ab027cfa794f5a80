"""Measures time and memory of writing, preparing and training on a corpus larger than memory.

    python benchmarks/large_corpus.py --work DIRECTORY --pairs 20000000 --steps 300 --json FILE

Sentences of 6 to 12 words are drawn from a Zipf vocabulary. `keras-transformer prepare` and `train`
run as processes of their own; their peak is the largest sum of the resident memory of a process
and its children, pages that they share counted once. Beside it stands the plain sum, in which
TensorFlow's 0.5 GB of code count for every process. The model alone is the same training on the
first pairs of the corpus, few and held in memory.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from driver import write_json

COMMAND = [sys.executable, "-m", "keras_transformer"]
SMALL_PAIRS = 50_000
VALID_PAIRS = 2_000
WORDS = 20_000
_SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
_BLOCK = 50_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    options = parse(arguments)
    text, shards = options.work / "text", options.work / "prepared"
    text.mkdir(parents=True, exist_ok=True)
    large = write_corpus(text, options.pairs)
    small, valid = write_corpus(text, SMALL_PAIRS), write_corpus(text, VALID_PAIRS)
    shutil.rmtree(shards, ignore_errors=True)
    vocabulary = ["--vocab-size", "8000", "--tokenizer-type", options.tokenizer_type]
    figures = {"pairs": options.pairs, "text_bytes": sum(path.stat().st_size for path in large)}
    figures["prepare"] = measure(
        ["prepare", *paths_of("train", large), *paths_of("valid", valid), *vocabulary]
        + ["--workers", str(options.workers), "--output", str(shards)]
    )
    figures["shard_bytes"] = sum(path.stat().st_size for path in shards.iterdir())
    training = ["--preset", "tiny", "--r-drop", "0", "--max-steps", str(options.steps)]
    # As when the figures were measured.
    training += ["--optimizer", "adam", "--average-checkpoints", "10"]
    training += ["--checkpoint-steps", "100", "--batch-tokens", str(options.batch_tokens)]
    sources = {
        "train": ["--data", "prepared", "--prepared", str(shards)],
        "model_alone": ["--data", "files", *paths_of("train", small), *vocabulary]
        + paths_of("valid", valid),
    }
    for name, data in sources.items():
        run = options.work / name
        shutil.rmtree(run, ignore_errors=True)
        figures[name] = measure(["train", *data, *training, "--output", str(run)])
    above = figures["train"]["peak_bytes"] - figures["model_alone"]["peak_bytes"]
    figures["above_model_bytes"] = above
    print(f"above the model: {above / 1e9:.2f} GB")
    write_json(figures, options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="scratch directory")
    parser.add_argument("--pairs", type=int, default=20_000_000)
    parser.add_argument("--steps", type=int, default=300, help="updates of each training")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--workers", type=int, default=2, help="processes of prepare")
    parser.add_argument("--tokenizer-type", default="unigram", choices=["unigram", "bpe"])
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser.parse_args(arguments)


def paths_of(split: str, paths: tuple[Path, Path]) -> list[str]:
    """The flags that name a split's files."""
    return [f"--{split}-source", str(paths[0]), f"--{split}-target", str(paths[1])]


def write_corpus(directory: Path, pairs: int) -> tuple[Path, Path]:
    """Writes generated pairs, unless they are there from before; always the same ones."""
    paths = directory / f"{pairs}.source", directory / f"{pairs}.target"
    if not all(path.exists() for path in paths):
        partial = [path.with_name(path.name + ".partial") for path in paths]
        with partial[0].open("w") as source, partial[1].open("w") as target:
            for source_line, target_line in islice(sentence_pairs(), pairs):
                source.write(source_line)
                target.write(target_line)
        for temporary, path in zip(partial, paths, strict=True):
            temporary.rename(path)
    return paths


def sentence_pairs() -> Iterator[tuple[str, str]]:
    """Yields lines without end: each source word has its target word, and the order is turned."""
    random = np.random.default_rng(0)
    sizes = random.integers(1, 5, (2, WORDS))
    source_words, target_words = (
        ["".join(random.choice(_SYLLABLES, size)) for size in side] for side in sizes.tolist()
    )
    chances = 1 / np.arange(1, WORDS + 1)
    edges = np.cumsum(chances / chances.sum())
    while True:
        words = np.searchsorted(edges[:-1], random.random((_BLOCK, 12))).tolist()
        for row, size in zip(words, random.integers(6, 13, _BLOCK).tolist(), strict=True):
            row = row[:size]
            yield (
                " ".join([source_words[word] for word in row]) + "\n",
                " ".join([target_words[word] for word in reversed(row)]) + "\n",
            )


def measure(arguments: list[str], text: str | None = None) -> dict[str, float]:
    """Runs one subcommand; returns its seconds and its peaks of resident memory.

    Args:
        arguments: The subcommand's name and flags.
        text: What it reads from standard input, if it does; its output is then dropped.
    """
    print("keras-transformer", *arguments, flush=True)
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as given:
        given.write((text or "").encode())
        given.seek(0)
        output = None if text is None else subprocess.DEVNULL
        process = subprocess.Popen([*COMMAND, *arguments], stdin=given, stdout=output)
    peaks = {"peak_bytes": 0, "peak_rss_bytes": 0}
    while process.poll() is None:
        processes = [resident_bytes(pid) for pid in family(process.pid)]
        for name, sizes in zip(peaks, zip(*processes, strict=True), strict=False):
            peaks[name] = max(peaks[name], sum(sizes))
        time.sleep(0.1)
    if process.returncode:
        sys.exit(f"keras-transformer {arguments[0]} failed with code {process.returncode}")
    seconds = time.perf_counter() - begin
    shown = " and ".join(f"{peak / 1e9:.2f} GB" for peak in peaks.values())
    print(f"{arguments[0]}: {seconds:.1f} s, peak {shown}", flush=True)
    return {"seconds": seconds, **peaks}


def family(pid: int) -> list[int]:
    """A process and all its descendants, those that have just ended left out."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            found += family(int(child))
    return found


def resident_bytes(pid: int) -> tuple[int, int]:
    """Resident memory of a process, shared pages divided and in full; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0, 0
    sizes = {line.split()[0]: line.split()[1] for line in lines[1:]}
    return int(sizes["Pss:"]) * 1024, int(sizes["Rss:"]) * 1024


if __name__ == "__main__":
    main()
