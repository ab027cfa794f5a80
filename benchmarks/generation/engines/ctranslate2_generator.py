"""CTranslate2's generator; threads of one batch and batches at the same time are the arguments."""

import math
import sys
from pathlib import Path
from typing import Any

import ctranslate2
from sentencepiece import SentencePieceProcessor
from speed import artefacts
from speed.serving import serve

from keras_transformer.config.special_ids import SpecialIds

from ..engine import BEAM, BEAMS, SAMPLED, TOP_K, GenerationEngine


class CTranslate2Engine(GenerationEngine):
    """`ctranslate2.Generator`, which forwards prompts at once as it recommends for speed.

    Args:
        threads: Threads of one batch.
        parallel: Parts of a batch that are continued at the same time.
    """

    def __init__(self, threads: int, parallel: int = 1) -> None:
        self._threads, self._parallel = threads, parallel

    def load(self, folder: str, precision: str) -> None:
        """Opens the CTranslate2 model; the one before is freed first."""
        self._generator: Any = None
        directory = Path(folder) / artefacts.peers(precision)
        self._generator = ctranslate2.Generator(
            str(directory),
            compute_type=precision,
            intra_threads=self._threads,
            inter_threads=self._parallel,
        )
        self._vocabulary = SentencePieceProcessor(model_file=str(directory / "tokenizer.model"))

    def prepare(self, prompts: list[list[int]]) -> list[list[str]]:
        """Returns the prompts' pieces, the decoder's start first."""
        start = SpecialIds().decoder_start
        return [self._vocabulary.id_to_piece([start, *row]) for row in prompts]

    def run(self, prepared: list[list[str]], length: int, search: str) -> Any:
        """Generates with forced lengths."""
        return self._generator.generate_batch(
            prepared,
            include_prompt_in_result=False,
            min_length=length,
            max_length=length,
            sampling_topk=TOP_K if search == SAMPLED else 1,
            beam_size=BEAMS if search == BEAM else 1,
            # 0: the whole batch at once.
            max_batch_size=math.ceil(len(prepared) / self._parallel) if self._parallel > 1 else 0,
        )

    def to_ids(self, result: Any) -> list[list[int]]:
        """Returns the new ids of each row."""
        return [found.sequences_ids[0] for found in result]


if __name__ == "__main__":
    serve(CTranslate2Engine(*map(int, sys.argv[1:])))
