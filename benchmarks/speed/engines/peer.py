"""CTranslate2, with SentencePiece as its users put them together; threads of one translation and
batches translated at the same time are the arguments.
"""

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
from sentencepiece import SentencePieceProcessor

from .. import artefacts, shortlists
from ..serving import Engine, serve

# On short sentences 1,024 to 4,096 were about equally fast, less and more were not faster.
_BATCH_TOKENS = 2048


class PeerEngine(Engine):
    """`ctranslate2.Translator`.

    Args:
        threads: Threads of one translation.
        parallel: Batches, or parts of one, that are translated at the same time.
    """

    def __init__(self, threads: int, parallel: int) -> None:
        self._threads, self._parallel = threads, parallel

    def load(self, folder: str, precision: str) -> None:
        """Opens the CTranslate2 model; the one before is freed first."""
        self._translator: Any = None
        directory = Path(folder) / artefacts.peers(precision)
        self._translator = ctranslate2.Translator(
            str(directory),
            compute_type=shortlists.split(precision)[0],
            intra_threads=self._threads,
            inter_threads=self._parallel,
        )
        self._has_map = (directory / shortlists.MAP).exists()
        self._source, self._target = (
            SentencePieceProcessor(model_file=str(directory / f"{side}.model"))
            for side in ("source", "target")
        )

    def prepare(self, rows: list[list[int]]) -> list[list[str]]:
        """Returns the rows' pieces, which is what CTranslate2 takes."""
        return [self._source.id_to_piece(row) for row in rows]

    def run(self, prepared: Any, beam_size: int, length: int | None) -> Any:
        """Translates with forced lengths, or in batches of like length."""
        if length is None:
            return self._in_batches(prepared, beam_size)
        return self._translator.translate_batch(
            prepared,
            beam_size=beam_size,
            min_decoding_length=length,
            max_decoding_length=length,
            # 0: the whole batch at once.
            max_batch_size=math.ceil(len(prepared) / self._parallel) if self._parallel > 1 else 0,
            use_vmap=self._has_map,
        )

    def to_ids(self, result: Any) -> list[list[int]]:
        """Returns the best hypothesis of each row."""
        return [self._target.piece_to_id(found.hypotheses[0]) for found in result]

    def translate(self, texts: Sequence[str], beam_size: int) -> list[str]:
        """Translates texts in batches of like length."""
        found = self._in_batches(self._source.encode(list(texts), out_type=str), beam_size)
        return self._target.decode([result.hypotheses[0] for result in found])

    def _in_batches(self, rows: list[list[str]], beam_size: int) -> Any:
        return self._translator.translate_batch(
            rows,
            beam_size=beam_size,
            min_decoding_length=1,
            max_batch_size=_BATCH_TOKENS,
            batch_type="tokens",
            use_vmap=self._has_map,
        )


if __name__ == "__main__":
    serve(PeerEngine(*map(int, sys.argv[1:])))
