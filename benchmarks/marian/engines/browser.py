"""Bergamot, Marian as browsers run it, on one thread, on Marian's own file.

Runs in the interpreter of an environment that has the package bergamot, for Python 3.10 and before.
"""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from speed.serving import serve

from ..engine import Setting, TextEngine

# Its own module asks the network for a list of models when it is imported.
sys.path[:0] = importlib.util.find_spec("bergamot").submodule_search_locations
_bergamot: Any = importlib.import_module("_bergamot")

# As the browser's translator has them.
_BATCH_WORDS, _LONGEST = 1024, 200


class Browser(TextEngine):
    """A model in int8."""

    def __init__(self) -> None:
        self._service = _bergamot.Service(_bergamot.ServiceConfig(numWorkers=1, logLevel="off"))
        self._options = _bergamot.ResponseOptions(alignment=False, qualityScores=False, HTML=False)

    def load(self, folder: str, setting: list) -> None:
        """Opens it; the one before is freed first."""
        self._model, place, asked = None, Path(folder), Setting(*setting)
        config = {
            "models": [str(place / "model.npz")],
            "vocabs": [str(place / "vocab.spm")] * 2,
            "beam-size": asked.beam_size,
            "normalize": 0,
            "word-penalty": 0,
            "max-length-factor": asked.ratio,
            "max-length-break": _LONGEST,
            "mini-batch-words": _BATCH_WORDS,
            "workspace": 256,
            "gemm-precision": "int8shiftAll",
            "ssplit-mode": "sentence",
            "ssplit-prefix-file": "",
            "alignment": "soft",
            "skip-cost": True,
            "cpu-threads": 0,
            "quiet": True,
            "quiet-translation": True,
        }
        if asked.listed:
            config["shortlist"] = [str(place / "list.bin"), False]
        # YAML holds all of JSON.
        self._model = self._service.modelFromConfig(json.dumps(config))

    def run(self, texts: list[str]) -> list[str]:
        """Translates."""
        given = _bergamot.VectorString(texts)
        found = self._service.translate(self._model, given, self._options)
        return [response.target.text for response in found]


if __name__ == "__main__":
    serve(Browser())
