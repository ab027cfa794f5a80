"""Files of word vectors, as word2vec, GloVe and fastText write them. Only reading whole files needs
gensim.
"""

import gzip
import hashlib
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from keras_transformer.data.sources.files import iter_raw_lines, require_rereadable
from keras_transformer.distribution import install_command

Vector: TypeAlias = npt.NDArray[np.float32]
FindVector: TypeAlias = Callable[[str], Vector | None]

_FASTTEXT_MAGIC = 793_712_314
_GZIP_MAGIC = b"\x1f\x8b"
# A vector of 4,096 numbers, written out, and its word are no longer than this.
_HEAD_BYTES = 1 << 17


@dataclass(frozen=True)
class VectorFile:
    """A file of word vectors whose begin was read.

    Attributes:
        path: The file, plain or, with the ending .gz, compressed.
        form: "text" for a line a word after a line with the number of words and of dimensions, as
            word2vec and fastText write it; "bare text" for the same without that line, as GloVe
            writes it, where a word may hold spaces; "binary" for word2vec's; "fasttext" for
            fastText's model (.bin), which has vectors of unknown words by their subwords.
        dim: Number of dimensions.
    """

    path: Path
    form: Literal["text", "bare text", "binary", "fasttext"]
    dim: int

    @classmethod
    def open(cls, path: Path) -> "VectorFile":
        """Reads what the file begins with.

        Raises:
            FileNotFoundError: There is no such file.
            ImportError: Gensim, which will read the vectors, is not installed.
            ValueError: It is no file of word vectors.
        """
        require_rereadable([path])
        if not path.is_file():
            raise FileNotFoundError(f"no such file: {path}")
        require_gensim()
        with path.open("rb") as file:
            is_packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
            file.seek(0)
            if is_packed:
                with gzip.open(file) as unpacked:
                    head = unpacked.read(_HEAD_BYTES)
            else:
                head = file.read(_HEAD_BYTES)
        if is_packed != (path.suffix == ".gz"):
            raise ValueError(f"{path}: the name of a compressed file must end in .gz, of no other.")
        if len(head) >= 12 and struct.unpack_from("<i", head)[0] == _FASTTEXT_MAGIC:
            return cls(path, "fasttext", struct.unpack_from("<i", head, 8)[0])
        first, _, rest = head.partition(b"\n")
        sizes = first.split()
        if len(sizes) == 2 and all(size.isdigit() for size in sizes):
            dim = int(sizes[1])
            return cls(path, "text" if _numbers_of_line(rest) == dim else "binary", dim)
        # Not of the first line alone, whose word may hold spaces; the last one may be cut.
        dims = Counter(map(_numbers_of_line, head.splitlines()))
        del dims[0]
        if not dims:
            raise ValueError(
                f"{path} has no word vectors: expected a line with a word and its numbers, or with "
                "the number of words and of dimensions, or a model of fastText (.bin)."
            )
        return cls(path, "bare text", dims.most_common(1)[0][0])

    def sha256(self) -> str:
        """Returns the hash of the file."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def read(self) -> FindVector:
        """Reads the file; returns what finds the vector of a word.

        Words are looked up as they are spelled, then in lower case, then, in a model of fastText,
        by their subwords.

        Raises:
            ValueError: The file is damaged.
        """
        vectors = self.load()
        has_subwords = self.form == "fasttext"

        def find(word: str) -> Vector | None:
            for spelling in (word, word.lower()):
                if spelling in vectors.key_to_index:
                    return vectors[spelling]
            return vectors[word] if has_subwords and word in vectors else None

        return find

    def load(self) -> Any:
        """Reads the file into gensim's `KeyedVectors`.

        Raises:
            ValueError: The file is damaged.
        """
        return self._load_bare() if self.form == "bare text" else self._load()

    def _load_bare(self) -> Any:
        """Reads lines of a word and its numbers; gensim takes no words with spaces."""
        from gensim.models import KeyedVectors

        vectors: dict[str, Vector] = {}
        left_out = 0
        for number, line in enumerate(iter_raw_lines(self.path), start=1):
            fields = line.rsplit(maxsplit=self.dim)
            try:
                vector = np.array(fields[1:], np.float32)
            except ValueError as error:
                raise ValueError(self._damage(f"line {number}: {error}")) from error
            if len(vector) != self.dim:
                raise ValueError(
                    self._damage(f"line {number} has {len(vector)} numbers, others {self.dim}")
                )
            if b" " in fields[0]:
                left_out += 1  # No piece spells it.
            else:
                vectors.setdefault(fields[0].decode("utf-8", "replace"), vector)
        if left_out:
            print(f"{self.path}: {left_out:,} words with spaces are left out")
        keyed = KeyedVectors(self.dim)
        keyed.add_vectors(list(vectors), list(vectors.values()))
        return keyed

    def _load(self) -> Any:
        from gensim.models import KeyedVectors
        from gensim.models.fasttext import load_facebook_vectors

        try:
            if self.form == "fasttext":
                return load_facebook_vectors(str(self.path))
            return KeyedVectors.load_word2vec_format(
                str(self.path),
                binary=self.form == "binary",
                # Words of old binary files may be cut within a character.
                unicode_errors="replace",
            )
        except (EOFError, ValueError, AssertionError, NotImplementedError, struct.error) as error:
            raise ValueError(self._damage(error)) from error

    def _damage(self, what: object) -> str:
        return f"{self.path} is a damaged file of word vectors: {what}"


def require_gensim() -> None:
    """Raises `ImportError` with the command that installs gensim, if it is not there."""
    if find_spec("gensim") is None:
        raise ImportError(
            f"word vectors need gensim: install it with `{install_command('vectors')}`."
        )


def _numbers_of_line(text: bytes) -> int:
    """Returns how many numbers follow the word of the first line; 0 if it is no such line."""
    _, *numbers = text.partition(b"\n")[0].split() or [b""]
    try:
        for number in numbers:
            float(number)
    except ValueError:
        return 0
    return len(numbers)
