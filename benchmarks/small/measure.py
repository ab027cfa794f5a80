"""A row of the table, trained with a configuration and measured: what came out on the test set and
what it cost.
"""

import csv
import json
import math
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

from keras_transformer import Generator, TextEncoder, Translator, corpus_scores
from keras_transformer.cli import main
from keras_transformer.evaluation import exact_match
from small.corpora import Line, Row

# R-Drop sends a batch through the model twice.
COST_OF_R_DROP = 1.75
_ENDED_BY_SIGNAL = 128
Flags = Mapping[str, Any]


def measure(
    row: Row, flags: Flags, seed: int, directory: Path, bert: Path, threads: int
) -> dict[str, Any]:
    """Trains by the command line and returns the figures of the run.

    Args:
        row: Corpus, task and start.
        flags: Flags of `train` beside those of the files, by name with underscores.
        seed: Of the weights, dropout and the order of the lines.
        directory: Where files and run are written; deleted at the end.
        bert: The run of an encoder that rows with such a start begin with.
        threads: Of the processor.

    Returns:
        "score", "seconds" of processor time, "updates" and "cost": tokens of all passes.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    run = directory / "run"
    given = {**_data(row, directory), **_start(row, bert), "output": run}
    given |= {"seed": seed, "threads": threads}
    keras.backend.clear_session()
    started = time.process_time()
    run_command("train", {**given, **flags})
    seconds = time.process_time() - started
    record = json.loads((run / "training.json").read_text("utf-8"))
    options, updates = record["options"], record["history"]["step"][-1]
    passes = COST_OF_R_DROP if options["r_drop"] else 1
    found = {
        "score": _score(row, run),
        "seconds": round(seconds, 1),
        "updates": updates,
        "cost": round(updates * options["batch_tokens"] * passes),
        "vocab_size": record["data"]["vocab_size"],
        "val_loss": record["history"].get("val_loss", [])[-3:],
    }
    shutil.rmtree(directory)
    return found


def train_bert(texts: Sequence[str], directory: Path, threads: int) -> None:
    """Trains the encoder that some rows begin with, unless it is there."""
    if (directory / "model.keras").exists():
        return
    text = directory.with_suffix(".txt")
    text.write_text("".join(f"{line}\n" for line in texts), "utf-8")
    flags = {"task": "masked-lm", "train_text": text, "output": directory, "threads": threads}
    flags |= {"vocab_size": 4000, "epochs": 4, "resume": True}
    run_command("train", flags)


def run_command(command: str, flags: Flags) -> None:
    """Runs a command of the package in this process.

    Raises:
        RuntimeError: It failed.
        SystemExit: A signal ended it, which is meant for the benchmark.
    """
    status = main([command, *as_arguments(flags)])
    if status > _ENDED_BY_SIGNAL:
        raise SystemExit(status)
    if status:
        raise RuntimeError(f"{command} with {dict(flags)} failed.")


def _data(row: Row, directory: Path) -> dict[str, Any]:
    """Writes the files of a row and returns their flags."""
    if row.task == "causal-lm":
        for part in ("train", "valid"):
            lines = [text for (text,) in getattr(row, part)]
            (directory / f"{part}.txt").write_text("".join(f"{one}\n" for one in lines), "utf-8")
        texts = {f"{part}_text": directory / f"{part}.txt" for part in ("train", "valid")}
        return {"task": row.task, **texts}
    for part in ("train", "valid"):
        write_tsv(directory / f"{part}.tsv", getattr(row, part))
    files = {f"{part}_tsv": directory / f"{part}.tsv" for part in ("train", "valid")}
    return {"data": "tsv", "task": row.task, **files}


def write_tsv(path: Path, lines: Sequence[Line]) -> None:
    """Writes fields with tabs between them, and no quotes."""
    with path.open("w", encoding="utf-8", newline="") as file:
        options: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}
        csv.writer(file, lineterminator="\n", **options).writerows(lines)


def _start(row: Row, bert: Path) -> dict[str, Any]:
    return (
        {}
        if row.start == "scratch"
        else {
            "init": bert,
            **({"lora_rank": 8} if row.start == "BERT, LoRA" else {}),
        }
    )


def as_arguments(flags: Flags) -> list[str]:
    """Returns flags as a command line has them: several values of one behind each other."""
    arguments: list[str] = []
    for name, value in flags.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            value = str(value).lower()
        if isinstance(value, list):
            arguments += [flag, *map(str, value)]
        else:
            arguments.append(flag if value == "true" else f"{flag}={value}")
    return arguments


def _score(row: Row, run: Path) -> float:
    """Returns the row's metric on the test set, in percent but for perplexity."""
    if row.metric in ("BLEU", "exact match"):
        sources, references = map(list, zip(*row.test, strict=True))
        translations = Translator.from_run(run).translate(sources, max_length=100)
        if row.metric == "BLEU":
            return corpus_scores(translations, references).bleu
        return 100 * exact_match(translations, references)
    if row.metric == "accuracy":
        labels, texts = zip(*row.test, strict=True)
        found = TextEncoder.from_run(run, long_texts="cut").classify(list(texts))
        return 100 * sum(a == b.label for a, b in zip(labels, found, strict=True)) / len(labels)
    texts = [text for (text,) in row.test]
    total = sum(one.log_probability for one in Generator.from_run(run).score(texts))
    return math.exp(-total / sum(len(text.split()) + 1 for text in texts))
