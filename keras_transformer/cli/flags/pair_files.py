"""Files of texts and their translations, which commands that judge these read as training does."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from keras_transformer.cli.corpora import read_catalogues
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.files import read_parallel
from keras_transformer.data.sources.tsv import read_tsv


@dataclass(frozen=True, kw_only=True)
class PairFileOptions:
    """The format of the source file.

    Args:
        data: Format of the source: lines of "text", or one of the other formats.
        source_column: Column of the source text in a TSV or CSV file, counted from 0.
        target_column: Column of its translation, counted from 0.
    """

    data: Literal["text", "tsv", "po", "xliff", "tmx"] = "text"
    source_column: int = 0
    target_column: int = 1

    def check_data(self, translations: Path | None, flag: str) -> None:
        """Raises `ValueError` if flags do not go together.

        Args:
            translations: The file of translations, or None.
            flag: Its flag.
        """
        if self.data == "text" and translations is None:
            raise ValueError(f"--data text needs {flag}.")
        if self.data != "text" and translations is not None:
            raise ValueError(
                f"--data {self.data} brings its own {flag.removeprefix('--')}s: leave {flag} out."
            )
        if self.data != "tsv" and (self.source_column, self.target_column) != (0, 1):
            raise ValueError(
                "--source-column and --target-column belong to --data tsv, but --data is "
                f"{self.data}."
            )

    def read_pairs(self, source: Path, translations: Path | None) -> Pairs:
        """Reads the pairs, and says on standard error how columns were read.

        Args:
            source: The source text, or the file that holds both sides.
            translations: The translations, line by line, if they are in a file of their own.

        Raises:
            OSError: A file cannot be read.
            ValueError: A file is not of its format, or has no pair; names the file.
        """
        if translations is not None:
            return read_parallel(source, translations)
        if self.data != "tsv":
            return read_catalogues([source], self.data)
        pairs = read_tsv(source, self.source_column, self.target_column)
        for note in pairs.notes:
            print(note, file=sys.stderr)
        return pairs
