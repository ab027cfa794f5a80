"""What is read after it was damaged: the models that tests keep, and artefacts made of three."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures"
_KINDS = ("stacks", "translators", "sentence_vectors", "gguf")
_FAMILIES = ("translators/marian_huggingface", "stacks/bert_classes", "stacks/gpt2")
# What `train` writes beside what an import does.
_TRAINED = {
    "training_text": {
        "longest_source": 9,
        "sentences": [90, 10],
        "letterless": {"numbers": 1, "marks": 0, "symbols": 2},
    },
    "min_score": -1.5,
}
_TEXTS = ["a small house", "", "\u00e9 1,000 \U0001f600 <unk></s>"]


def import_directories() -> list[Path]:
    """Returns the directories of all formats that tests keep."""
    return sorted(path for kind in _KINDS for path in (FIXTURES / kind).iterdir())


def ctranslate2_directory(folder: Path) -> Path:
    """Writes a model as CTranslate2 has it and returns its directory."""
    from keras_transformer.export import export_pretrained
    from keras_transformer.pretrained.recognise import read_pretrained

    found = read_pretrained(FIXTURES / "translators" / "marian_huggingface")
    source, target = found.tokenizers
    return export_pretrained(
        found.build(),
        folder / "ctranslate2",
        format="ctranslate2",
        tokenizer=source,
        target_tokenizer=target,
    )


def artefacts(folder: Path) -> list[Path]:
    """Writes an artefact of each family and returns their directories."""
    from keras_transformer.export import export_onnx
    from keras_transformer.pretrained.recognise import read_pretrained

    made = []
    for name in _FAMILIES:
        found = read_pretrained(FIXTURES / name)
        path = folder / Path(name).name
        export_onnx(found.build(), found.tokenizers[0], path, search=found.search)
        made.append(path)
    return made


def runs(folder: Path) -> list[Path]:
    """Writes a run directory of each family and returns them."""
    from keras_transformer.training.transfer.import_run import import_run

    made = []
    for name in _FAMILIES:
        run = import_run(FIXTURES / name, folder / Path(name).name)
        record = run / "training.json"
        values = {**json.loads(record.read_text()), **_TRAINED}
        record.write_text(json.dumps(values))
        made.append(run)
    return made


def trained_run(directory: Path, *, load: bool = False) -> str:
    """Reads a run directory; returns a digest of it, with its weights if they are loaded."""
    from keras_transformer.runs.finished_run import load_run
    from keras_transformer.runs.run_directory import RunDirectory

    run = RunDirectory(directory)
    read = (run.load_config(), run.load_training_text(), run.load_min_score(), run.load_search())
    digest = hashlib.sha256(repr((read, run.is_imported, run.is_translation)).encode())
    for tokenizer in run.load_tokenizers():
        digest.update(repr(tokenizer.encode(_TEXTS)).encode())
    if load:
        model, *_ = load_run(directory)
        for weight in model.get_weights():
            digest.update(weight.tobytes())
    return digest.hexdigest()


def answers(directory: Path) -> str:
    """Opens an artefact of any family; returns what it makes of a few texts."""
    from keras_transformer import OnnxEncoder, OnnxGenerator
    from keras_transformer.artefact.manifest import Manifest
    from keras_transformer.export import OnnxTranslator

    opened: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "encoder": (OnnxEncoder, lambda model: model.classify(_TEXTS)),
        "decoder": (OnnxGenerator, lambda model: model.generate(_TEXTS, max_length=4)),
        "encoder-decoder": (OnnxTranslator, lambda model: model.translate(_TEXTS, max_length=4)),
    }
    opens, asks = opened[Manifest.read(directory).family]
    with opens(directory, threads=1) as model:
        try:
            return repr(asks(model))
        except ValueError as error:
            # With fewer positions the same texts are too long.
            return f"refuses the texts: {error}"


def imported_model(directory: Path, *, build: bool = False) -> str:
    """Reads a directory; returns a digest of its config, tokenizers, search and weights."""
    from keras_transformer.pretrained.recognise import read_pretrained

    found = read_pretrained(directory)
    if getattr(getattr(found.config, "marks", None), "languages_in", "") == "ends":
        build = False
    digest = hashlib.sha256(repr((found.config, sorted(found.search.items()))).encode())
    for tokenizer in found.tokenizers:
        digest.update(tokenizer.model)
        digest.update(repr(tokenizer.encode(_TEXTS)).encode())
    if build:
        for weight in found.build().get_weights():
            digest.update(weight.tobytes())
    else:
        for name in sorted(found.tensors):
            digest.update(found.tensors[name].tobytes())
    return digest.hexdigest()
