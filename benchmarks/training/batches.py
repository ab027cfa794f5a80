"""Makes the batches that all engines train on, once, with our own pipeline, writes them to a file
of arrays, and measures how fast the pipeline is and how full its batches are.

Making them needs TensorFlow and happens in a process of its own (`python -m training.batches`).
"""

import dataclasses
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from speed.artefacts import environment

from keras_transformer.config.single_stack import SingleStackConfig

from .models import MODELS

# Pieces of the vocabulary that the text is cut into; the model may have rows for more.
_PIECES = 10_000
_DEMO_PAIRS, _DEMO_PIECES = 10_000, 2_000
_PIPELINE_SECONDS = 1.0
# Whose tokens are counted, the first that a model has.
_COUNTED = ("target_ids", "token_ids")
# What lengths are rounded up to for batches of one shape: accelerators want multiples of 8.
_MULTIPLE = 8
# Batches among which that shape is chosen.
_CANDIDATES = 64


@dataclasses.dataclass(frozen=True)
class Rows:
    """How batches are made of lines, where it is not as in training.

    Attributes:
        length: The longest row, in tokens.
        lines: Lines that are joined to one text.
        packing: Of a causal language model, as for `TextOptions`.
        one_shape: Whether all batches have one shape, lengths being padded to multiples of 8, so
            that compilers compile once.
    """

    length: int = 256
    lines: int = 1
    packing: Literal["none", "documents", "stream"] = "none"
    one_shape: bool = False

    def join(self, lines: Sequence[str]) -> list[str]:
        """Joins lines to texts."""
        starts = range(0, len(lines) - self.lines + 1, self.lines)
        return [" ".join(lines[start : start + self.lines]) for start in starts]


@dataclasses.dataclass(frozen=True)
class Batch:
    """One batch as `keras_transformer.data.batching.batches` makes them.

    Attributes:
        inputs: The model's, by name: int32 `(batch, length)` of "source_ids" and "target_ids", or
            of "token_ids", "token_type_ids" and "places".
        labels: int32 `(batch, predictions)`.
        sample_weight: float32 `(batch, predictions)`, 0 on padding.
    """

    inputs: dict[str, np.ndarray]
    labels: np.ndarray
    sample_weight: np.ndarray

    @property
    def tokens(self) -> int:
        """Tokens that are no padding; the target's, if there are two sides."""
        return int(np.count_nonzero(self.counted_ids))

    @property
    def counted_ids(self) -> np.ndarray:
        """The ids whose tokens are counted, with padding."""
        return next(self.inputs[name] for name in _COUNTED if name in self.inputs)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of inputs and labels, by name."""
        arrays = {**self.inputs, "labels": self.labels}
        return {name: array.shape for name, array in arrays.items()}

    def rounded(self) -> "Batch":
        """Returns the batch with padding up to lengths that are multiples of 8."""
        arrays = [*self.inputs.values(), self.labels, self.sample_weight]
        widths = [((0, 0), (0, -array.shape[1] % _MULTIPLE)) for array in arrays]
        *inputs, labels, weights = map(np.pad, arrays, widths)
        return Batch(dict(zip(self.inputs, inputs, strict=True)), labels, weights)


def make_batches(
    path: Path,
    size: str,
    tokens: int,
    count: int,
    data: Path | None,
    streams: bool = True,
    rows: Rows | None = None,
) -> dict[str, dict[str, float]]:
    """Writes batches to a file and measures the pipeline that makes them.

    Args:
        path: The file, to be read by `read_batches`.
        size: Name of the model size; its vocabulary holds all ids.
        tokens: The most padded tokens of one side in a batch.
        count: Number of batches.
        data: Folder of train.{en,de}.gz; the demo corpus if None.
        streams: Whether the pipeline is measured.
        rows: How batches are made of lines; as in training if None.

    Returns:
        For sentences segmented "once" and, of pairs, those drawn "anew" in every epoch:
        "padding_fraction" of an epoch's positions, number of "batches" and of their "shapes", and
        "rate", the tokens a second of the pipeline without a model.

    Raises:
        RuntimeError: The process failed; its messages are on the error stream.
    """
    order = {"path": str(path), "size": size, "tokens": tokens, "count": count}
    order |= {"data": data and str(data), "streams": streams}
    order |= {"rows": dataclasses.asdict(rows or Rows())}
    command = [sys.executable, "-m", "training.batches", json.dumps(order)]
    done = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError("the batches could not be made; the messages above say why.")
    return json.loads(done.stdout.splitlines()[-1])


def read_batches(path: str | Path) -> list[Batch]:
    """Reads the batches that `make_batches` wrote."""
    with np.load(path) as file:
        found: dict[int, dict[str, np.ndarray]] = {}
        for key in file.files:
            number, name = key.split("/")
            found.setdefault(int(number), {})[name] = file[key]
    return [
        Batch(labels=arrays.pop("labels"), sample_weight=arrays.pop("sample_weight"), inputs=arrays)
        for _, arrays in sorted(found.items())
    ]


def _write(path: Path, batches: list[Batch]) -> None:
    arrays = {}
    for number, batch in enumerate(batches):
        outputs = {"labels": batch.labels, "sample_weight": batch.sample_weight}
        arrays |= {f"{number}/{name}": a for name, a in (batch.inputs | outputs).items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)


def _read_pairs(data: str | None, vocab_size: int, layout: Rows) -> dict[str, Any]:
    """Reads the corpus; returns its training pairs as ids below `vocab_size`, in both of the ways
    that training knows: segmented once, and drawn anew in every epoch.
    """
    from keras_transformer.data.encoding.encode import encode_pairs
    from keras_transformer.data.encoding.subword_regularization import ResegmentedPairs
    from keras_transformer.data.sources.corpus import Pairs
    from keras_transformer.data.sources.demo import demo_corpus
    from keras_transformer.data.sources.files import read_parallel
    from keras_transformer.text.tokenizer import train_tokenizer

    if data is None:
        pairs, pieces = demo_corpus(_DEMO_PAIRS).train, _DEMO_PIECES
    else:
        sides = [[Path(data) / f"train.{language}.gz"] for language in ("en", "de")]
        pairs, pieces = read_parallel(*sides), _PIECES
    sentences = [*pairs.source, *pairs.target]
    tokenizer = train_tokenizer(sentences, min(pieces, vocab_size), "unigram")
    sides = map(layout.join, (pairs.source, pairs.target))
    pairs, most = Pairs(*sides, pairs.origin), layout.length
    once = encode_pairs(pairs, tokenizer, tokenizer, most)
    anew = ResegmentedPairs.from_encoded(once, pairs, tokenizer, tokenizer, "unigram", most)
    return {"once": once, "anew": anew}


def _read_texts(data: str | None, config: SingleStackConfig, layout: Rows) -> dict[str, Any]:
    """Reads the corpus, without its pairing, as the rows of a masked or a causal language model."""
    from keras_transformer.data.sources.demo import demo_corpus
    from keras_transformer.data.sources.texts import Texts, read_texts
    from keras_transformer.text.tokenizer import train_tokenizer
    from keras_transformer.training.texts.options import TextOptions
    from keras_transformer.training.texts.tasks import KINDS

    if data is None:
        pairs = demo_corpus(_DEMO_PAIRS).train
        texts, pieces = Texts([*pairs.source, *pairs.target], "the demo"), _DEMO_PIECES
    else:
        files = [Path(data) / f"train.{language}.gz" for language in ("en", "de")]
        texts, pieces = read_texts(files), _PIECES
    kind = KINDS["masked-lm" if config.family == "encoder" else "causal-lm"]
    pieces = min(pieces, config.vocab_size)
    tokenizer = train_tokenizer(texts.lines, pieces, "unigram", has_mask=kind.has_mask)
    joined = Texts(layout.join(texts.lines), texts.origin)
    options = TextOptions(packing=layout.packing)
    return {"once": kind.encode(joined, tokenizer, config, layout.length, options)}


def _of_one_shape(stream: Iterator[Batch]) -> Iterator[Batch]:
    """Yields rounded batches of one shape: among the first ones, that with the least padding."""
    rounded = (batch.rounded() for batch in stream)
    candidates = list(itertools.islice(rounded, _CANDIDATES))
    best = max(candidates, key=lambda batch: batch.tokens / batch.counted_ids.size)
    every = itertools.chain(candidates, rounded)
    return (batch for batch in every if batch.shapes == best.shapes)


def _stream(pairs: Any, tokens: int) -> Iterator[Batch]:
    """Yields the batches of training without end."""
    from keras_transformer.data.batching.batches import training_batches

    for inputs, labels, weights in training_batches(pairs, tokens, seed=0).as_numpy_iterator():
        yield Batch(inputs, labels, weights)


def _measure_stream(pairs: Any, tokens: int) -> dict[str, float]:
    """Takes whole epochs from a stream: how full, how varied, how fast."""
    from keras_transformer.data.batching.batches import batches_per_epoch

    epoch_batches = batches_per_epoch(pairs, tokens)
    epoch = list(itertools.islice(_stream(pairs, tokens), epoch_batches))
    ids = [
        side
        for batch in epoch
        for name, side in batch.inputs.items()
        if name in ("source_ids", *_COUNTED)
    ]
    filled = sum(int(np.count_nonzero(side)) for side in ids)
    stream = _stream(pairs, tokens)
    # The first batch waits for the pipeline to start, which happens once a run.
    next(stream)
    start, found, seconds = time.perf_counter(), 0, 0.0
    while seconds < _PIPELINE_SECONDS:
        found += sum(b.tokens for b in itertools.islice(stream, epoch_batches))
        seconds = time.perf_counter() - start
    return {
        "padding_fraction": 1 - filled / sum(side.size for side in ids),
        "shapes": len({tuple(side.shape for side in b.inputs.values()) for b in epoch}),
        "batches": epoch_batches,
        "rate": found / seconds,
    }


def _main() -> None:
    order = json.loads(sys.argv[1])
    config, layout = MODELS[order["size"]], Rows(**order["rows"])
    if isinstance(config, SingleStackConfig):
        corpus = _read_texts(order["data"], config, layout)
    else:
        corpus = _read_pairs(order["data"], config.target_vocab_size, layout)
    stream = _stream(corpus["once"], order["tokens"])
    if layout.one_shape:
        stream = _of_one_shape(stream)
    _write(Path(order["path"]), list(itertools.islice(stream, order["count"])))
    measured = corpus.items() if order["streams"] else ()
    print(json.dumps({name: _measure_stream(p, order["tokens"]) for name, p in measured}))


if __name__ == "__main__":
    _main()
