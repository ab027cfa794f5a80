"""One side of `tools/compare_speed.py`: takes orders as lines of JSON and answers each with one."""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT, WORK = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(ROOT / "benchmarks"))


class Worker:
    """What the orders ask for."""

    def __init__(self) -> None:
        self._translator: Any = None

    def make(self, order: dict[str, Any]) -> dict[str, Any]:
        """Writes a run with random weights unless it exists."""
        from speed.random_run import write_random_run
        from speed.sizes import SIZES

        directory = Path(order["make"])
        if not directory.exists():
            write_random_run(SIZES[order["size"]], directory)
        return {}

    def export(self, order: dict[str, Any]) -> dict[str, Any]:
        """Exports a run and opens the artefact."""
        import keras_transformer as kt
        from keras_transformer.export import OnnxTranslator, export_onnx

        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        model, source, target = kt.load_run(order["export"])
        quantize = {} if order["precision"] == "float32" else {"quantize": order["precision"]}
        artefact = WORK / "artefact"
        export_onnx(
            model,
            source,
            artefact,
            target_tokenizer=None if target is source else target,
            target=order["target"],
            **quantize,
        )
        if self._translator is not None:
            self._translator.close()
        self._translator = OnnxTranslator(artefact)
        return {}

    def run(self, order: dict[str, Any]) -> dict[str, Any]:
        """Translates random ids with a forced length and returns the processor's seconds."""
        from speed.sizes import SIZES

        cell = order["run"]
        size = SIZES[cell["size"]]
        rows = size.sources(cell["batch"])
        length = size.target_tokens
        began = time.process_time()
        found = self._translator.translate_ids(
            rows,
            beam_size=cell["beam_size"],
            min_length=length,
            max_length=length,
            return_scores=False,
        )
        seconds = time.process_time() - began
        ids = [list(map(int, best[0])) for [best, *_] in found] if order.get("ids") else None
        return {"seconds": seconds, "ids": ids}


def main() -> None:
    """Answers orders until there are no more."""
    worker = Worker()
    # Libraries print, too: answers alone go to the pipe.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        order = json.loads(line)
        [kind] = {"make", "export", "run"} & set(order)
        print(json.dumps(getattr(worker, kind)(order)), file=answers, flush=True)


if __name__ == "__main__":
    main()
