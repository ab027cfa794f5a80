"""What Marian reads of texts: lines for it, and the ids that it makes of them."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import sentencepiece
import yaml

from tools.oracles.sizes import PIECES
from tools.oracles.vocabularies import train_pieces

EOS = 0
# The language to translate into, and one more that the model knows.
LANGUAGE, OTHER = "spa", "fra"
Ids = list[list[int]]


class OneModel:
    """One SentencePiece model inside Marian, which trains it."""

    names = ("vocab.spm", "vocab.spm")
    files = ("vocab.spm",)
    sizes = (str(PIECES), str(PIECES))
    language = None

    def __init__(self, work: Path) -> None:
        self._path = work / self.files[0]

    def lines(self, side: str, texts: Sequence[str]) -> list[str]:
        """Returns what Marian reads of the texts of a side, "en" or "es"."""
        return list(texts)

    def ids(self, side: str, texts: Sequence[str]) -> Ids:
        """Returns the ids of texts, without the end."""
        return self._pieces().encode(list(texts))

    def written(self, lines: Sequence[str]) -> Ids:
        """Returns the ids of pieces that Marian wrote."""
        pieces = self._pieces()
        return [[pieces.piece_to_id(piece) for piece in line.split()] for line in lines]

    def copy(self, folder: Path) -> None:
        """Writes the files beside a model."""
        shutil.copy(self._path, folder)

    def _pieces(self) -> sentencepiece.SentencePieceProcessor:
        return sentencepiece.SentencePieceProcessor(str(self._path))


class Tagged:
    """As OPUS-MT has it: a SentencePiece model for each side outside of Marian, which reads their
    pieces, tags of languages before sources, and one vocabulary in YAML, which lacks some pieces.

    Args:
        work: Where to write.
        texts: Training texts of each side.
        marian: Runs a command of Marian's on a text and returns what it prints.
    """

    names = ("vocab.yml", "vocab.yml")
    files = ("vocab.yml", "source.spm", "target.spm")
    sizes = ("0", "0")
    language = LANGUAGE

    def __init__(
        self, work: Path, texts: dict[str, list[str]], marian: Callable[[str, str], str]
    ) -> None:
        self._work = work
        self._models = {
            side: train_pieces(work / name, texts[side], PIECES)
            for side, name in (("en", "source.spm"), ("es", "target.spm"))
        }
        # Of fewer texts, as where a SentencePiece model was trained on others.
        seen = {side: self.lines(side, rows[: len(rows) // 8]) for side, rows in texts.items()}
        lines = [*seen["en"], f">>{OTHER}<<", *seen["es"]]
        (work / self.names[0]).write_text(marian("vocab", "\n".join(lines) + "\n"))
        rows = (work / self.names[0]).read_text().splitlines()
        self._ids = {
            str(yaml.load(piece, yaml.BaseLoader)): int(number)  # noqa: S506 - it makes strings.
            for piece, _, number in (row.rpartition(": ") for row in rows)
        }

    def lines(self, side: str, texts: Sequence[str]) -> list[str]:
        """Returns what Marian reads of the texts of a side, "en" or "es"."""
        tag = [f">>{LANGUAGE}<<"] if side == "en" else []
        return [" ".join([*tag, *row]) for row in self._split(side, texts)]

    def ids(self, side: str, texts: Sequence[str]) -> Ids:
        """Returns the ids of texts, without tag and end."""
        return [self._known(row) for row in self._split(side, texts)]

    @property
    def tag(self) -> int:
        """The id before sources."""
        return self._ids[f">>{LANGUAGE}<<"]

    def written(self, lines: Sequence[str]) -> Ids:
        """Returns the ids of pieces that Marian wrote."""
        return [self._known(line.split()) for line in lines]

    def copy(self, folder: Path) -> None:
        """Writes the files beside a model."""
        for name in self.files:
            shutil.copy(self._work / name, folder)
        described = {
            "relative-paths": True,
            "models": ["model.npz"],
            "vocabs": list(self.names),
            "beam-size": 6,
            "normalize": 1,
            "word-penalty": 0,
        }
        (folder / "decoder.yml").write_text(yaml.safe_dump(described))

    def _split(self, side: str, texts: Sequence[str]) -> list[list[str]]:
        return self._models[side].encode(list(texts), out_type=str)

    def _known(self, pieces: Sequence[str]) -> list[int]:
        return [self._ids.get(piece, self._ids["<unk>"]) for piece in pieces]


def run(command: Sequence[str], work: Path, text: str | None = None) -> str:
    """Runs a program in a folder and returns what it prints."""
    done = subprocess.run(  # noqa: S603
        list(command), cwd=work, check=True, capture_output=True, text=True, input=text
    )
    return done.stdout
