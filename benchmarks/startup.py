"""Measures the time from a process's start to its first translation, compared with CTranslate2.

    python benchmarks/startup.py

Both engines run `tiny` with the same random weights, each time in a fresh process, taking turns;
prints the medians and whether ours stays within half a second.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from driver import in_turns, parser_of, write_json
from speed import artefacts

LIMIT_SECONDS = 0.5
# As short as a user of each would write it; the sentence ends the program's first line of output.
OURS = """
import sys
from keras_transformer.export import OnnxTranslator
translator = OnnxTranslator(sys.argv[1])
print(translator.translate(["batu keli moru"], max_length=12), flush=True)
"""
PEER = """
import sys, ctranslate2, sentencepiece
directory, threads = sys.argv[1:]
source = sentencepiece.SentencePieceProcessor(model_file=directory + "/source.model")
target = sentencepiece.SentencePieceProcessor(model_file=directory + "/target.model")
translator = ctranslate2.Translator(directory, intra_threads=int(threads))
pieces = source.encode(["batu keli moru"], out_type=str)
found = translator.translate_batch(pieces, beam_size=1, max_decoding_length=12)
print(target.decode(found[0].hypotheses[0]), flush=True)
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    options = parse(arguments)
    folder = artefacts.size_folder(options.work, options.size)
    parts = {"ours": artefacts.ours("float32"), "peer": artefacts.peers("float32")}
    artefacts.make(folder, parts.values(), size=options.size)
    commands = {"ours": [OURS, str(folder / parts["ours"])]}
    for threads in sorted({1, len(os.sched_getaffinity(0))}):
        name = f"CTranslate2, threads: {threads}"
        commands[name] = [PEER, str(folder / parts["peer"]), str(threads)]
    taken = in_turns(lambda name: first_sentence(commands[name]), commands, options.repeats + 1)
    # The first round only fills the file cache.
    seconds = {name: values[1:] for name, values in taken.items()}
    report(seconds)
    write_json({"seconds": seconds}, options.json)


def first_sentence(command: list[str]) -> float:
    """Returns the seconds from a Python process's start to its first line of output.

    Args:
        command: The program's text and its arguments.

    Raises:
        RuntimeError: It ended without one.
    """
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", *command], stdout=subprocess.PIPE) as process:
        line = process.stdout.readline()
        taken = time.perf_counter() - start
    if not line:
        raise RuntimeError("a program translated nothing; see its messages above.")
    return taken


def report(seconds: dict[str, list[float]]) -> None:
    """Prints a line for each engine, and whether ours is within the limit."""
    for name, values in seconds.items():
        print(
            f"{name}: {statistics.median(values):.3f} s "
            f"({min(values):.3f}–{max(values):.3f}, {len(values)} starts)"
        )
    reached = statistics.median(seconds["ours"]) <= LIMIT_SECONDS
    print(f"Limit for ours, {LIMIT_SECONDS} s: {'reached' if reached else 'missed'}.")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = parser_of("Measures start-up, compared with CTranslate2.", "repeats", "json", "work")
    parser.add_argument("--size", default="tiny", help="model, of those in speed/sizes.py")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
