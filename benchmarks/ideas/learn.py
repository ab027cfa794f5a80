"""A system of the lineage, made from text without labels within its minutes, tuned for a task, and
measured. Time is processor time of one thread.
"""

import json
import math
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
from ideas.corpora import Task
from ideas.systems import Flags, Pretraining, System
from small.measure import run_command, write_tsv

from keras_transformer import Generator, RunFeatures, TextEncoder

_THREADS = 1
# Updates of the two short runs whose difference tells what one costs.
_FEW, _MORE = 5, 25
_PHRASES, _LEAST_COUNT = 3000, 20


def write_texts(pairs: Sequence[tuple[str, str]], valid: Sequence[str], directory: Path) -> None:
    """Writes what pretraining reads: texts, the same as pairs, and phrases that are frequent."""
    directory.mkdir(parents=True, exist_ok=True)
    texts = [text for pair in pairs for text in pair]
    _write(directory / "text.txt", texts)
    _write(directory / "valid.txt", valid)
    write_tsv(directory / "pairs.tsv", pairs)
    write_tsv(directory / "valid_pairs.tsv", pairs[-500:])
    counts: Counter[str] = Counter()
    for text in texts:
        words = text.split()
        for length in (2, 3):
            counts.update(map(" ".join, zip(*(words[k:] for k in range(length)), strict=False)))
    frequent = [phrase for phrase, count in counts.most_common(_PHRASES) if count >= _LEAST_COUNT]
    _write(directory / "phrases.txt", frequent)


def pretrain(one: Pretraining, directory: Path, seconds: float) -> dict[str, Any]:
    """Makes one model within the time, or as long as vectors take by default.

    Args:
        one: What is made.
        directory: Folder of the texts, which the run is written to, too.
        seconds: Processor time that it may take.

    Returns:
        Its "seconds" and "updates".
    """
    output = directory / one.name
    flags = {**_at(directory, one.flags), "threads": _THREADS}
    if "method" in flags:
        return {"seconds": _run("vectors", {**flags, "train_text": directory / "text.txt"}, output)}
    if flags["task"] == "translation":
        pairs = {"train_tsv": directory / "pairs.tsv", "valid_tsv": directory / "valid_pairs.tsv"}
        flags |= {**pairs, "data": "tsv", "bleu_sentences": 0}
    else:
        texts = {"train_text": directory / "text.txt", "valid_text": directory / "valid.txt"}
        flags |= texts
    return _train_for(seconds, flags, output)


def _train_for(seconds: float, flags: Flags, output: Path) -> dict[str, Any]:
    """Trains with as many updates as take the time, and returns its "seconds" and "updates"."""
    few, more = (_run("train", {**flags, **_steps(count)}, output) for count in (_FEW, _MORE))
    each = max((more - few) / (_MORE - _FEW), 1e-3)
    updates = max(_MORE, int((seconds - few) / each) + _FEW)
    return {"seconds": _run("train", {**flags, **_steps(updates)}, output), "updates": updates}


def tune(
    system: System, task: Task, seed: int, directory: Path, place: Path, seconds: float
) -> dict[str, Any]:
    """Trains by the command's defaults from what pretraining made, and measures on the test set.

    Args:
        system: The system.
        task: The task.
        seed: Of weights, dropout and the order of lines.
        directory: Folder of what pretraining made.
        place: Where the task's files and run are written; deleted at the end.
        seconds: Processor time of a system that reads text without labels while it is tuned.

    Returns:
        "score" in percent and the "seconds" of training.
    """
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    flags = {
        **_at(directory, system.tuning or {}),
        "task": task.kind,
        "seed": seed,
        "threads": _THREADS,
    }
    for part, lines in (("train", task.train), ("valid", task.valid)):
        if task.kind == "tag":
            flags[f"{part}_jsonl"] = place / f"{part}.jsonl"
            _write(
                flags[f"{part}_jsonl"],
                [json.dumps({"words": words, "tags": tags}) for words, tags in lines],
            )
        else:
            flags[f"{part}_tsv"] = place / f"{part}.tsv"
            write_tsv(flags[f"{part}_tsv"], lines)
    run = place / "run"
    if "unlabelled_text" in flags:
        found = _train_for(seconds, flags, run)
    else:
        found = {"seconds": _run("train", flags, run)}
    found["score"] = _score(task, run, "features" in flags)
    shutil.rmtree(place)
    return found


def bits_a_character(run: Path, texts: Sequence[str]) -> float:
    """Returns what a language model takes to tell the texts, ends included."""
    total = sum(one.log_probability for one in Generator.from_run(run).score(list(texts)))
    return -total / math.log(2) / sum(len(text) + 1 for text in texts)


def tag_score(found: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> float:
    """Returns F1, in percent, of the words that are no plain ones."""
    pairs = [pair for rows in zip(found, wanted, strict=True) for pair in zip(*rows, strict=True)]
    right = sum(a == b != "O" for a, b in pairs)
    named = sum((a != "O") + (b != "O") for a, b in pairs)
    return 200 * right / max(named, 1)


def _score(task: Task, run: Path, has_features: bool) -> float:
    features = RunFeatures(run) if has_features else None
    encoder = TextEncoder.from_run(run, features=features, long_texts="cut")
    if task.kind == "tag":
        texts = [" ".join(words) for words, _ in task.test]
        found = [[word.tag or "O" for word in words] for words in encoder.tag(texts)]
        return tag_score(found, [tags for _, tags in task.test])
    labels, *sides = zip(*task.test, strict=True)
    answers = encoder.classify(*map(list, sides))
    return 100 * sum(a == b.label for a, b in zip(labels, answers, strict=True)) / len(labels)


def _run(command: str, flags: Flags, output: Path) -> float:
    """Runs a command that writes what is not there, and returns its processor seconds."""
    shutil.rmtree(output, ignore_errors=True)
    keras.backend.clear_session()
    started = time.process_time()
    run_command(command, {**flags, "output": output})
    return round(time.process_time() - started, 1)


def _steps(count: int) -> dict[str, int]:
    """So many updates end the run, in however many passes."""
    return {"max_steps": count, "epochs": count}


def _at(directory: Path, flags: Flags) -> dict[str, Any]:
    """The flags with paths in the folder for what stands in braces and for relative paths."""

    def value(one: Any) -> Any:
        if isinstance(one, list):
            return [value(each) for each in one]
        if isinstance(one, str) and one.startswith("{"):
            return directory / one.strip("{}")
        return directory / one if isinstance(one, Path) else one

    return {name: value(one) for name, one in flags.items()}


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
