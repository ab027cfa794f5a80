"""What is read after it was damaged: the models that tests keep, and artefacts made of three."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures"
_KINDS = ("stacks", "translators", "sentence_vectors")
_FAMILIES = ("translators/marian_huggingface", "stacks/bert_classes", "stacks/gpt2")
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
