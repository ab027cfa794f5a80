"""The translator without a server: what it answers is expected of every server, and how long it
takes for one sentence is the least that a client can wait.
"""

import itertools
import sys
import time
from collections.abc import Sequence
from typing import Any

from speed.serving import serve


class BareTranslator:
    """`OnnxTranslator` as its users call it, one sentence at a time.

    Args:
        artefact: Directory of the ONNX artefact.
    """

    def __init__(self, artefact: str) -> None:
        from keras_transformer.export import OnnxTranslator

        self._translator: Any = OnnxTranslator(artefact)

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Returns the translation of each text."""
        return [self._translator.translate([text])[0] for text in texts]

    def measure(self, texts: Sequence[str], seconds: float) -> list[float]:
        """Translates the texts over and over for a while; returns the seconds of each."""
        end = time.perf_counter() + seconds
        latencies = []
        for text in itertools.cycle(texts):
            start = time.perf_counter()
            self._translator.translate([text])
            latencies.append(time.perf_counter() - start)
            if time.perf_counter() >= end:
                return latencies
        raise ValueError("texts must not be empty.")


if __name__ == "__main__":
    serve(BareTranslator(sys.argv[1]))
