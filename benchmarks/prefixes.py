"""Measures the first token of prompts that share a beginning, with it kept and without.

    python benchmarks/prefixes.py --size llama --prefix 512 --own 16

A random decoder continues prompts one after the other, by one token each. Both sides read the same
prompts in turns; the side that keeps beginnings has read the shared one before.
"""

import argparse
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np
from driver import count, figures, in_turns, parser_of, publish, tell
from generation import artefacts
from generation.sizes import SIZES
from speed.machine import describe_machine

from keras_transformer.runtime.generator import OnnxGenerator
from keras_transformer.search.options import SearchOptions

_PACKAGES = ("onnxruntime", "numpy")


def run(given: argparse.Namespace, result: dict) -> None:
    """Adds the seconds to the first token."""
    size = SIZES[given.size]
    folder = artefacts.make(given.work, given.size, [given.precision], given.target)
    path = folder / f"{given.target}-{given.precision}"
    [shared] = size.prompts(1, given.prefix)
    random = np.random.default_rng(0)
    sides = {
        name: OnnxGenerator(path, given.threads, prefix_cache_tokens=tokens).engine
        for name, tokens in (("kept", 2 * (given.prefix + given.own)), ("read", 0))
    }
    prompts: list[list[int]] = []
    found: dict[str, list[Any]] = {name: [] for name in sides}

    def turn(name: str) -> float:
        # A prompt of its own for each turn of both.
        place = len(found[name])
        if place == len(prompts):
            prompts.append([*shared, *random.integers(100, size.vocab_size, given.own).tolist()])
        begin = time.perf_counter()
        [[best]] = sides[name].search([prompts[place]], SearchOptions(max_length=1))
        seconds = time.perf_counter() - begin
        found[name].append(best.ids)
        return seconds

    seconds = in_turns(turn, sides, given.repeats + 1)  # The first one keeps the beginning.
    if found["kept"] != found["read"]:
        raise RuntimeError(f"the sides found other tokens: {found}")
    result["seconds"] = {name: own[1:] for name, own in seconds.items()}
    result["ratio"] = median(
        read / kept for kept, read in zip(*result["seconds"].values(), strict=True)
    )
    tell(f"{result}")


def report(result: dict) -> str:
    """Writes the figures as a sentence."""
    kept, read = (1000 * median(result["seconds"][name]) for name in ("kept", "read"))
    return (
        f"{result['size']}, {result['prefix']} shared tokens and {result['own']} of its own: first "
        f"token after {kept:.0f} ms with the beginning kept, {read:.0f} ms without "
        f"({result['ratio']:.1f} times as fast).\n"
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = parser_of(__doc__.splitlines()[0], "target", "repeats", "json", "work")
    parser.add_argument("--size", choices=list(SIZES), default="llama")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--prefix", type=count, default=512, help="tokens that all prompts share")
    parser.add_argument("--own", type=count, default=16, help="tokens of each prompt behind them")
    parser.add_argument("--threads", type=count, default=None)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    given = parse(arguments)
    asked = {name: getattr(given, name) for name in ("size", "prefix", "own")}
    with figures(__file__, given.json, machine=describe_machine(_PACKAGES), **asked) as result:
        run(given, result)
    publish(report(result), given.json)


if __name__ == "__main__":
    main()
