"""Imports the tiny models of the fixtures and exports them again, for `leaving.py` to compare.

    python -m tools.oracles.exports tests/fixtures FOLDER

Runs where our own packages are; `leaving.py` needs those of others.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from keras_transformer.export import export_pretrained
from keras_transformer.training.transfer.import_run import import_run

from .leaving import NAMES


def main() -> None:
    """Reads the models below one folder and writes them into another."""
    models, written = map(Path, sys.argv[1:])
    shutil.rmtree(written, ignore_errors=True)
    for form, names in NAMES.items():
        for name in names:
            with tempfile.TemporaryDirectory() as directory:
                run = import_run(models / name, Path(directory) / "run")
                export_pretrained(run, written / name, format=form)


if __name__ == "__main__":
    main()
