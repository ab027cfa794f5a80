"""Translates a large text file on a Ray cluster: a Ray Data job of `OnnxTranslator` actors.

    python examples/ray_translate.py exported/demo input.txt output.txt --actors 2 --beam-size 4

The file, one sentence a line, is cut into blocks of lines; each block's translation is a file in
`output.txt.blocks`, which become `output.txt` in the end. Called again after a kill, the job
translates only the missing blocks. Of a line that is too long for the model the beginning is
translated. All nodes must see the files under the same names.
Prints its progress, block by block:

    50 of 200 blocks were there already
    51 of 200 blocks, 12,750 lines
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
from itertools import islice
from pathlib import Path
from typing import Any

# Before Ray is imported: it reports nothing about its use.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray

from keras_transformer.export import OnnxTranslator


class BlockTranslator:
    """An actor: takes blocks of the input file and writes their translations."""

    def __init__(self, job: dict[str, Any], blocks: str) -> None:
        self.job = job
        self.blocks = Path(blocks)
        self.translator = OnnxTranslator(job["model"], threads=1, long_texts="cut")

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Translates blocks, given by number, place in the file and number of lines."""
        for block, offset, lines in zip(
            batch["block"], batch["offset"], batch["lines"], strict=True
        ):
            self._translate(int(block), int(offset), int(lines))
        return {"lines": batch["lines"]}

    def _translate(self, block: int, offset: int, lines: int) -> None:
        with open(self.job["input"], "rb") as file:
            file.seek(offset)
            texts = [line.decode("utf-8").rstrip("\r\n") for line in islice(file, lines)]
        translations = self.translator.translate(texts, beam_size=self.job["beam_size"])
        write_whole(block_path(self.blocks, block), "".join(f"{text}\n" for text in translations))


def write_whole(path: Path, text: str) -> None:
    """Writes a file under its name only once it is complete, so a kill leaves no partial file."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def block_path(blocks: Path, block: int) -> Path:
    """Returns the file of a block's translation."""
    return blocks / f"{block:08d}.txt"


def open_job(job: dict[str, Any], blocks: Path) -> None:
    """Makes the directory of the blocks, or checks that it is the same job's.

    Raises:
        ValueError: The blocks there come from another input, model or search.
    """
    settings = blocks / "job.json"
    if settings.exists():
        found = json.loads(settings.read_text(encoding="utf-8"))
        if found != job:
            changed = ", ".join(sorted(name for name in job if job[name] != found.get(name)))
            raise ValueError(f"{blocks} is of another job ({changed}): delete it to start again.")
    blocks.mkdir(parents=True, exist_ok=True)
    write_whole(settings, json.dumps(job))


def cut(source: str, block_lines: int) -> list[dict[str, int]]:
    """Returns number, place in bytes and number of lines of each block of the input."""
    blocks: list[dict[str, int]] = []
    offset = 0
    with open(source, "rb") as file:
        for number, line in enumerate(file):
            if number % block_lines == 0:
                blocks.append({"block": len(blocks), "offset": offset, "lines": 0})
            blocks[-1]["lines"] += 1
            offset += len(line)
    return blocks


def translate(job: dict[str, Any], directory: Path, actors: int) -> list[Path]:
    """Translates the blocks that are missing; returns the files of all, in order."""
    blocks = cut(job["input"], job["block_lines"])
    paths = [block_path(directory, block["block"]) for block in blocks]
    missing = [block for block, path in zip(blocks, paths, strict=True) if not path.exists()]
    done = len(blocks) - len(missing)
    if done:
        print(f"{done:,} of {len(blocks):,} blocks were there already", flush=True)
    if missing:
        # A task for each block, so that a lost actor costs no more than one.
        results = ray.data.from_items(missing, override_num_blocks=len(missing)).map_batches(
            BlockTranslator,
            fn_constructor_args=(job, str(directory)),
            compute=ray.data.ActorPoolStrategy(size=actors),
        )
        lines = 0
        for row in results.iter_rows():
            done, lines = done + 1, lines + row["lines"]
            print(f"{done:,} of {len(blocks):,} blocks, {lines:,} lines", flush=True)
    return paths


def describe_job(given: argparse.Namespace) -> dict[str, Any]:
    """Returns what decides the translations, as `job.json` holds it."""
    source = given.input.resolve()
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return {
        "input": str(source),
        "input_sha256": digest.hexdigest(),
        "model": str(given.model.resolve()),
        "manifest": (given.model / "manifest.json").read_text(encoding="utf-8"),
        "beam_size": given.beam_size,
        "block_lines": given.block_lines,
    }


def count(text: str) -> int:
    """Reads a flag's whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, got {text!r}")
    return int(text)


def parse() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("model", type=Path, help="artefact of `keras-transformer export`")
    parser.add_argument("input", type=Path, help="UTF-8 text, one sentence a line")
    parser.add_argument("output", type=Path)
    parser.add_argument("--address", help="of a Ray cluster (default: one on this machine)")
    parser.add_argument("--actors", type=count, default=2, help="one core each (default: 2)")
    parser.add_argument("--beam-size", type=count, default=1)
    parser.add_argument("--block-lines", type=count, default=1000, help="lines a block")
    return parser.parse_args()


def main() -> None:
    """Translates the file, or continues it."""
    given = parse()
    blocks = given.output.resolve().with_name(given.output.name + ".blocks")
    try:
        job = describe_job(given)
        open_job(job, blocks)
    except (OSError, ValueError) as error:
        sys.exit(f"ray_translate.py: {error}")
    local = {} if given.address else {"num_cpus": given.actors, "include_dashboard": False}
    ray.init(address=given.address or "local", log_to_driver=False, **local)
    paths = translate(job, blocks, given.actors)
    partial = given.output.with_name(given.output.name + ".partial")
    with partial.open("wb") as output:
        for path in paths:
            output.write(path.read_bytes())
    partial.replace(given.output)
    shutil.rmtree(blocks)


if __name__ == "__main__":
    main()
