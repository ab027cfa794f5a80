"""Measures our own artefacts, one precision beside the others.

    python benchmarks/precisions.py
    python benchmarks/precisions.py --size tiny11 --part encoder --sentences captions.en
    python benchmarks/precisions.py --vectors float32,int8 --sentences captions.en

Prints the medians of tokens a second of processor time, in turns on one thread, and how many times
as fast as float32 each precision is. Tokens are the source's for the encoder, and the
translation's, of forced length, for whole searches. Sources have the size's own length, or with
`--sentences` those of a file's lines, which are for the encoder only.

`--vectors` takes artefacts of one encoder instead, and prints how near the vectors of a file's
lines are to those of the first, and seconds of processor time; `--peer` adds another ONNX file.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from driver import PRECISIONS, count, in_turns, items, names, parser_of
from encoding import vectors
from speed import artefacts
from speed.cells import beam_size
from speed.serving import timed
from speed.sizes import EOS_ID, SIZES, Size
from speed.text_lengths import read_sentences, text_lengths

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.export import OnnxTranslator
from keras_transformer.runtime.onnx_graphs.operators import instructions
from keras_transformer.runtime.onnx_graphs.sessions import open_session

# Takes a size and a batch and returns what is measured, and how many tokens that is.
Work = Callable[[Size, int], tuple[Callable[[], Any], int]]
ENCODER = "encoder"
_PAD_ID = 0


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures all that is requested and prints a table."""
    options = parse(arguments)
    if options.vectors is not None:
        texts = read_sentences(options.sentences)[: options.most_sentences]
        try:
            print(vectors.compare(options.vectors, options.peer, texts, options.repeats))
        except (OSError, ValueError) as error:
            sys.exit(f"precisions.py: {error}")
        return
    print(f"instructions: {instructions()}\n")
    print(f"| size, part, sentences | {' | '.join(PRECISIONS)} | over float32 |")
    print(f"|---|{'---|' * len(PRECISIONS)}---|")
    for name in options.size:
        size, folder = SIZES[name], artefacts.size_folder(options.work, name)
        if options.sentences is not None:
            lengths = text_lengths(options.sentences, size.vocab_size, options.most_sentences)
            size = size.of_text(options.sentences.stem, lengths)
        artefacts.make(folder, map(artefacts.ours, PRECISIONS), size=name)
        for part in options.part:
            opened = {one: opener(part)(folder / artefacts.ours(one)) for one in PRECISIONS}
            for batch in options.batch:
                print(row(f"{name}, {part}, {batch}", opened, size, batch, options.repeats))


def opener(part: str) -> Callable[[Path], Work]:
    """Returns what opens an artefact for a part of the work."""
    return open_encoder if part == ENCODER else partial(open_search, beams=beam_size(part))


def open_encoder(directory: Path) -> Work:
    """Opens an artefact's encoder on one thread; what it returns takes a size and a batch."""
    session = open_session(Manifest.read(directory), ArtefactFiles(directory), ENCODER, threads=1)

    def work(size: Size, batch: int) -> tuple[Callable[[], Any], int]:
        loads = padded(size, batch)

        def run() -> None:
            for ids in loads:
                session.run(None, {"source_ids": ids})

        return run, sum(int((ids != _PAD_ID).sum()) for ids in loads)

    return work


def open_search(directory: Path, beams: int) -> Work:
    """Opens an artefact for translations of forced length on one thread; else as above."""
    translator = OnnxTranslator(directory, threads=1)

    def work(size: Size, batch: int) -> tuple[Callable[[], Any], int]:
        lengths = {"min_length": size.target_tokens, "max_length": size.target_tokens}
        options: dict[str, Any] = {"beam_size": beams, **lengths}
        run = partial(translator.translate_ids, size.sources(batch), **options)
        return run, batch * size.target_tokens

    return work


def padded(size: Size, batch: int) -> list[np.ndarray]:
    """Returns sources in batches: of all of a text's lengths, or one batch of equal ones."""
    rows = [[*ids, EOS_ID] for ids in size.sources(max(batch, len(size.text_lengths)))]
    parts = [rows[first : first + batch] for first in range(0, len(rows), batch)]
    return [
        np.array(list(zip(*zip_longest(*part, fillvalue=_PAD_ID), strict=True)), np.int32)
        for part in parts
    ]


def row(name: str, opened: dict[str, Work], size: Size, batch: int, repeats: int) -> str:
    """Measures one row of the table."""
    works = {precision: work(size, batch) for precision, work in opened.items()}
    seconds = in_turns(
        lambda precision: timed(works[precision][0], 1)["cpu_seconds"], works, repeats + 1
    )
    seconds = {precision: taken[1:] for precision, taken in seconds.items()}  # The first warms up.
    rates = [tokens / median(seconds[precision]) for precision, (_, tokens) in works.items()]
    ratios = [
        median(a / b for a, b in zip(seconds["float32"], found, strict=True))
        for found in seconds.values()
    ]
    cells = " | ".join(f"{rate:,.0f}" for rate in rates)
    return f"| {name} | {cells} | {', '.join(f'{ratio:.2f}' for ratio in ratios[1:])} |"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    what = "Measures our own artefacts, one precision beside the others."
    parser = parser_of(what, "repeats", "work", repeats=9)
    add = parser.add_argument
    parts = (ENCODER, "greedy", "beam4")
    add("--size", type=names(SIZES), default="tiny11,base,opus", help=f"of {', '.join(SIZES)}")
    add("--part", type=names(parts), default=",".join(parts), help=f"of {', '.join(parts)}")
    add("--batch", type=items(count), default="1,8,64", help="sentences at a time")
    add("--sentences", type=Path, metavar="FILE", help="sentences of real lengths, one a line")
    add("--most-sentences", type=count, default=256, help="how many of the file are encoded")
    add("--vectors", type=items(Path), metavar="ARTEFACTS", help="encoders, the reference first")
    add("--peer", type=Path, metavar="FILE", help="a peer's ONNX file, for --vectors")
    options = parser.parse_args(arguments)
    if (options.vectors or options.peer) and not (options.vectors and options.sentences):
        parser.error("--vectors needs --sentences, and --peer needs both")
    if options.vectors:
        return options
    if options.sentences is not None and options.part != [ENCODER]:
        parser.error("--sentences is for --part encoder")
    return options


if __name__ == "__main__":
    main()
