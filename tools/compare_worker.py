"""One side of `tools/compare.py`, run by the interpreter of the checkout that is looked at.

Uses public names alone, so that it runs with checkouts of any age. Prints JSON on its last line.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

TEXTS = ["a small house stands by the river", "we see three birds", "hello", "you read the book"]
VOCABULARY = 60


def make(directory: Path, size: str, norm: str, share: str, fields: str) -> dict[str, Any]:
    """Writes a run whose weights are random; `fields` of its config are JSON."""
    import keras

    import keras_transformer as kt

    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = kt.train_tokenizer(TEXTS, VOCABULARY, "bpe")
    config = kt.TransformerConfig.preset(
        size,
        vocab_size=tokenizer.vocab_size,
        norm=norm,
        share_embeddings=share,
        **json.loads(fields),
    )
    keras.utils.set_random_seed(1)
    model = kt.build_transformer(config)
    random = keras.random.SeedGenerator(2)
    for weight in model.trainable_weights:  # biases and norms start as 0 and 1
        weight.assign_add(keras.random.normal(weight.shape, stddev=0.05, seed=random))
    (directory / "config.json").write_text(config.to_json(), encoding="utf-8")
    sides = [""] if share == "all" else ["source_", "target_"]
    for side in sides:
        tokenizer.save(directory / f"{side}tokenizer.model")
    model.save(directory / "model.keras")
    return {}


def search(run: Path, target: str, precision: str, work: Path) -> dict[str, Any]:
    """Exports a run and searches with each of the options in searches.json."""
    import keras_transformer as kt
    from keras_transformer.export import OnnxTranslator, export_onnx

    model, source, tokenizer = kt.load_run(run)
    artefact = work / f"artefact-{os.getpid()}"
    quantize = {} if precision == "float32" else {"quantize": precision}
    began = time.perf_counter()
    export_onnx(model, source, artefact, target_tokenizer=tokenizer, target=target, **quantize)
    seconds = time.perf_counter() - began
    rows = source.encode(TEXTS)
    found = []
    with OnnxTranslator(artefact, threads=1) as translator:
        for options in json.loads((work / "searches.json").read_text(encoding="utf-8")):
            results = translator.translate_ids(rows, **options)
            found.append([[list(map(int, best[0])) for best in few] for few in results])
    for path in artefact.iterdir():
        path.unlink()
    artefact.rmdir()
    return {"seconds": seconds, "ids": found}


def main() -> None:
    """Does what the arguments say."""
    task, *rest = sys.argv[1:]
    if task == "make":
        result = make(Path(rest[0]), *rest[1:])
    else:
        result = search(Path(rest[0]), rest[1], rest[2], Path(rest[3]))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
