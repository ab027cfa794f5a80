"""Imports point one way, as the design says: each file imports only what stands left of it."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fresh_process import python

ROOT = Path(__file__).resolve().parents[1]
# The way of the data, left to right.
ORDER = (
    ("control_groups",),
    ("cores", "messages", "path_kinds", "suggestions", "telemetry", "tensors"),
    ("distribution", "keras_backend", "serializable", "config", "whole_files", "garbage"),
    ("gelu", "text"),
    ("search",),
    ("translation",),
    ("markup",),
    ("files",),
    ("noise",),
    ("understanding", "generation"),
    ("data",),
    ("layers",),
    ("models",),
    ("pretrained",),
    ("runs",),
    ("decoding",),
    ("features",),
    ("evaluation", "vectors"),
    ("training",),
    ("distillation",),
    ("plotting",),
    ("artefact",),
    ("runtime",),
    ("serving",),
    ("cli",),
    ("__main__",),
)
LEVEL = {part: level for level, parts in enumerate(ORDER) for part in parts}
RUNTIME_PACKAGES = {"numpy", "onnxruntime", "sentencepiece", "sentencex"}
# What the runtime stands on: plain Python and numpy.
SHARED = {
    "keras_transformer.artefact.entries",
    "keras_transformer.artefact.graph_names",
    "keras_transformer.artefact.files",
    "keras_transformer.artefact.manifest",
    "keras_transformer.artefact.shortlist",
    "keras_transformer.search.confidence",
    "keras_transformer.search.distinct",
    "keras_transformer.search.grammars",
    "keras_transformer.search.keywords",
    "keras_transformer.search.memory",
    "keras_transformer.search.model_limits",
    "keras_transformer.search.named_ids",
    "keras_transformer.search.options",
    "keras_transformer.search.phrase_banks",
    "keras_transformer.search.phrases",
    "keras_transformer.search.random_numbers",
    "keras_transformer.search.stops",
    "keras_transformer.search.text_limits",
    "keras_transformer.config.checks",
    "keras_transformer.config.decoder_only",
    "keras_transformer.config.encoder_only",
    "keras_transformer.config.sentence_marks",
    "keras_transformer.config.special_ids",
    "keras_transformer.control_groups",
    "keras_transformer.cores",
    "keras_transformer.config.family",
    "keras_transformer.generation.continuation",
    "keras_transformer.generation.engine",
    "keras_transformer.generation.grammars",
    "keras_transformer.generation.text_generator",
    "keras_transformer.markup.casing",
    "keras_transformer.markup.lifting",
    "keras_transformer.markup.profiles",
    "keras_transformer.markup.required",
    "keras_transformer.markup.soft_terms.annotation",
    "keras_transformer.markup.terms",
    "keras_transformer.path_kinds",
    "keras_transformer.text.layout",
    "keras_transformer.text.letterless",
    "keras_transformer.text.passage",
    "keras_transformer.text.sentences",
    "keras_transformer.text.subwords.accelerators",
    "keras_transformer.text.subwords.attributes",
    "keras_transformer.text.subwords.slots",
    "keras_transformer.text.subwords.interface",
    "keras_transformer.text.subwords.opening",
    "keras_transformer.text.subwords.symbols_apart",
    "keras_transformer.text.training_text",
    "keras_transformer.translation.asked",
    "keras_transformer.translation.engine",
    "keras_transformer.translation.marked",
    "keras_transformer.translation.required",
    "keras_transformer.translation.results",
    "keras_transformer.translation.text_search",
    "keras_transformer.translation.text_ids",
    "keras_transformer.translation.translator",
    "keras_transformer.translation.unknown_words",
    "keras_transformer.translation.written",
    "keras_transformer.understanding.engine",
    "keras_transformer.understanding.text_rows",
    "keras_transformer.understanding.text_understanding",
    "keras_transformer.whole_files",
}
SHARED_WITH_SERVER = SHARED | {
    "keras_transformer.artefact.encoder_signatures",
    "keras_transformer.artefact.search_signatures",
    "keras_transformer.artefact.signatures",
    "keras_transformer.config.families",
    "keras_transformer.files.formats",
    "keras_transformer.files.job",
    "keras_transformer.files.segments",
    "keras_transformer.files.translating",
    "keras_transformer.generation.chat_template",
    "keras_transformer.suggestions",
    "keras_transformer.text.joined_lines",
    "keras_transformer.translation.by_sentence",
    "keras_transformer.understanding.results",
}
# The server stands on the runtime: TensorFlow is on its gRPC side alone, for the protos.
SERVER_PACKAGES = RUNTIME_PACKAGES | {
    "httptools",
    "prometheus_client",
    "starlette",
    "uvicorn",
    "uvloop",
}
MODEL_CONFIG_IMPORTS = ("google.protobuf.", "tensorflow_serving.config.")
GRPC_IMPORTS = ("google.protobuf.", "grpc", "tensorflow.core.", "tensorflow_serving.")
# The package itself loads its public names lazily: tests/test_package.py looks at that.
PACKAGE = ROOT / "keras_transformer" / "__init__.py"
CORE_FILES = sorted(set((ROOT / "keras_transformer").rglob("*.py")) - {PACKAGE})
EXPORT_FILES = sorted((ROOT / "export").rglob("*.py"))


def module_name(path: Path, root: Path = ROOT) -> str:
    """Names a file as it is installed: export/ is keras_transformer.export."""
    parts = list(path.relative_to(root).with_suffix("").parts)
    if parts[0] == "export":
        parts = ["keras_transformer", *parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(source: str, module: str, *, is_package: bool) -> Iterator[tuple[str, bool]]:
    """Yields each imported module or name, absolute, and whether it stands inside a function."""
    tree = ast.parse(source)
    inner = {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(outer)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")
                parents = parents[: len(parents) - node.level + is_package]
                base = ".".join([*parents, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            yield name, id(node) in inner


def complaints(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """Says which imports of a file break the design."""
    found = []
    for name, is_inner in imports(source, module, is_package=is_package):
        if module.startswith("keras_transformer.runtime"):
            found += runtime_complaints(name, module)
        elif module.startswith("keras_transformer.serving"):
            found += server_complaints(name, module)
        elif module.startswith("keras_transformer.export"):
            if name.startswith("keras_transformer.cli"):
                found.append(f"{module} imports {name}: export never imports the command line")
        elif name.startswith("keras_transformer"):
            found += core_complaints(name, module, is_inner=is_inner)
    return found


def core_complaints(name: str, module: str, *, is_inner: bool) -> list[str]:
    if name == "keras_transformer.__version__":
        return []
    parts = name.split(".")
    if len(parts) < 2 or parts[1] not in {*LEVEL, "export"}:
        return [f"{module} imports {name}: import public names from the file that defines them"]
    own, other = module.split(".")[1], parts[1]
    if other == "export":
        allowed = own == "cli" and is_inner
        return [] if allowed else [f"{module} imports {name}: only cli may, inside a function"]
    if LEVEL[other] > LEVEL[own] or (LEVEL[other] == LEVEL[own] and other != own):
        return [f"{module} imports {name}: that stands right of {own}"]
    return []


def runtime_complaints(name: str, module: str) -> list[str]:
    top = name.split(".")[0]
    packages = RUNTIME_PACKAGES | sys.stdlib_module_names
    if top in packages or name.startswith("keras_transformer.runtime."):
        return []
    if name in SHARED or name.rpartition(".")[0] in SHARED:
        return []
    return [f"{module} imports {name}: the runtime needs {', '.join(sorted(RUNTIME_PACKAGES))}"]


def server_complaints(name: str, module: str) -> list[str]:
    top, file = name.split(".")[0], module.rpartition(".")[2]
    if top in SERVER_PACKAGES | sys.stdlib_module_names or name == "keras_transformer.__version__":
        return []
    if file.startswith("grpc_") and name.startswith(GRPC_IMPORTS):
        return []
    if file == "model_config" and name.startswith(MODEL_CONFIG_IMPORTS):
        return []
    if name.startswith(("keras_transformer.serving.", "keras_transformer.distribution.")):
        return []
    inside = name.startswith("keras_transformer.runtime.")
    if inside or name.rpartition(".")[0] in SHARED_WITH_SERVER:
        return []
    return [f"{module} imports {name}: the server stands on the runtime, without TensorFlow"]


@pytest.mark.parametrize("path", CORE_FILES + EXPORT_FILES, ids=module_name)
def test_imports_point_one_way(path: Path) -> None:
    module = module_name(path)
    is_package = path.name == "__init__.py"
    assert complaints(path.read_text(encoding="utf-8"), module, is_package=is_package) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("keras_transformer.text.tokenizer", "import keras_transformer.data.sources.files"),
        ("keras_transformer.text.tokenizer", "from keras_transformer.data import files"),
        ("keras_transformer.text.tokenizer", "from ..data.files import read_lines"),
        (
            "keras_transformer.decoding.search",
            "def f():\n    import keras_transformer.training.run.train",
        ),
        ("keras_transformer.config", "from keras_transformer.serializable import A"),
        ("keras_transformer.training.run.train", "from keras_transformer import Tokenizer"),
        ("keras_transformer.training.run.train", "def f():\n    import keras_transformer.export"),
        (
            "keras_transformer.cli.commands.export",
            "from keras_transformer.export import export_onnx",
        ),
        (
            "keras_transformer.export.onnx.graphs.tracing",
            "import keras_transformer.cli.commands.train",
        ),
        ("keras_transformer.runtime.loop.beam_search", "import keras"),
        (
            "keras_transformer.runtime.loop.beam_search",
            "from keras_transformer.export.onnx import graphs",
        ),
        ("keras_transformer.runtime.loop.beam_search", "import keras_transformer.config"),
        (
            "keras_transformer.runtime.loop.beam_search",
            "from keras_transformer.decoding.search import search",
        ),
        ("keras_transformer.runtime.loop.beam_search", "from keras_transformer import search"),
        (
            "keras_transformer.serving.models.model",
            "from keras_transformer.export.onnx import graphs",
        ),
        ("keras_transformer.serving.models.model", "import keras"),
        ("keras_transformer.serving.http.rest", "import grpc"),
        ("keras_transformer.serving.models.model_config", "import tensorflow_serving.apis"),
        ("keras_transformer.serving.http.rest", "import tensorflow_serving.config.x"),
        ("keras_transformer.serving.rpc.grpc_server", "import tensorflow"),
        ("keras_transformer.serving.server", "import keras_transformer.cli.commands.serve"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    assert len(complaints(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("keras_transformer.data.sources.files", "from .corpus import Pairs"),
        (
            "keras_transformer.data.encoding.encode",
            "from keras_transformer.text.tokenizer import Tokenizer",
        ),
        ("keras_transformer.cli.commands.export", "def f():\n    import keras_transformer.export"),
        ("keras_transformer.export.onnx.graphs.tracing", "from keras_transformer.config import A"),
        (
            "keras_transformer.runtime.loop.beam_search",
            "import os, numpy as np\nimport keras_transformer.artefact.manifest",
        ),
        (
            "keras_transformer.runtime.loop.beam_search",
            "from keras_transformer.search.options import SearchOptions",
        ),
        (
            "keras_transformer.serving.models.model",
            "from keras_transformer.runtime.translation_engine import Engine",
        ),
        ("keras_transformer.serving.http.app", "import starlette.routing"),
        ("keras_transformer.serving.rpc.grpc_server", "import grpc"),
        ("keras_transformer.serving.models.model_config", "import tensorflow_serving.config.x"),
        (
            "keras_transformer.serving.rpc.grpc_tensors",
            "from tensorflow.core.framework.tensor_pb2 import TensorProto",
        ),
    ],
)
def test_a_right_import_passes(module: str, source: str) -> None:
    assert complaints(source, module) == []


def test_relative_imports_of_a_package_count_from_itself() -> None:
    source = "from .search import search"
    module = "keras_transformer.decoding"
    assert list(imports(source, module, is_package=True)) == [(f"{module}.search.search", False)]


LOADED = """
import sys

import numpy, onnxruntime, sentencepiece, sentencex

before = set(sys.modules)
import keras_transformer.runtime.encoder
import keras_transformer.runtime.generator
import keras_transformer.runtime.encoder
import keras_transformer.runtime.generator
import keras_transformer.runtime.translator

print(*sorted(set(sys.modules) - before), sep="\\n")
"""


def test_the_runtime_loads_its_four_packages_and_plain_python_only() -> None:
    result = python("-c", LOADED)
    loaded = set(result.stdout.split())
    others = {name for name in loaded if not name.startswith("keras_transformer")}
    foreign = {name for name in others if name.partition(".")[0] not in sys.stdlib_module_names}
    # A submodule of theirs may come later, but no other package.
    assert {name.partition(".")[0] for name in foreign} <= RUNTIME_PACKAGES
    ours = {name for name in loaded if name.startswith("keras_transformer.")}
    ours = {name for name in ours if not name.startswith("keras_transformer.runtime")}
    # What the packages themselves load is plain Python as well.
    packages = {"artefact", "config", "search", "serializable", "text", "translation"}
    packages |= {"config.block_options", "config.embedding", "config.stack"}
    packages |= {"config.positions", "config.positions.relative_bias"}
    packages |= {"config.positions.disentangled", "config.positions.rotary"}
    packages |= {"distribution", "suggestions", "telemetry", "text.subwords"}
    packages |= {"text.subwords.json_decoders", "text.subwords.json_special_ids"}
    packages |= {"text.subwords.sentencepiece_model", "text.subwords.sentencepiece_stream"}
    packages |= {"text.subwords.tokenizer_json"}
    packages |= {"artefact.config_fields"}
    packages |= {"markup", "markup.addresses", "markup.backtracking", "markup.markdown"}
    packages |= {"markup.nesting"}
    packages |= {"markup.placeholders", "markup.spans", "markup.tags"}
    packages |= {"markup.soft_terms", "markup.terms"}
    packages |= {"config.single_stack", "generation", "understanding"}
    packages |= {"config.text_vectors"}
    packages |= {"understanding.heads", "understanding.masks", "understanding.results"}
    assert ours == SHARED | {f"keras_transformer.{name}" for name in packages}


def test_a_translator_opens_without_what_it_never_reads() -> None:
    command = "import sys, keras_transformer.runtime.translator; print(*sys.modules)"
    result = python("-c", command)
    # Values of configs cost a tenth of the time to the first translation.
    unwanted = {"keras_transformer.config.stack", "keras_transformer.config.transformer", "difflib"}
    assert not set(result.stdout.split()) & unwanted


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("server", {"tensorflow", "tensorflow_serving", "keras", "grpc"}),
        # The schema is TensorFlow Serving's, and no part of TensorFlow itself.
        ("models.model_config", {"tensorflow", "keras", "grpc"}),
    ],
)
def test_the_server_without_grpc_loads_no_tensorflow(module: str, unwanted: set[str]) -> None:
    command = (
        "import sys, keras_transformer.cli.commands.serve as serve;"
        f"import keras_transformer.serving.{module};"
        "serve.build_parser(); print(*sys.modules)"
    )
    result = python("-c", command)
    tops = {name.partition(".")[0] for name in result.stdout.split()}
    assert not tops & unwanted


FOLDERS = sorted({path.parent for path in CORE_FILES + EXPORT_FILES} - {ROOT / "export"})
FOLDERS += sorted({path.parent for path in (ROOT / "keras_transformer").rglob("*.cc")})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_folder_holds_few_files_and_says_what_lives_there(folder: Path) -> None:
    files = [path for path in folder.iterdir() if path.suffix in (".py", ".cc", ".h")]
    package = folder / "__init__.py"
    # Python's own names say nothing of what lives there.
    assert len([path for path in files if not path.stem.startswith("__")]) <= 13
    if any(path.suffix == ".py" for path in files):
        assert ast.get_docstring(ast.parse(package.read_text(encoding="utf-8")))
