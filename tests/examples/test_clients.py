"""examples/client.mjs and examples/client.cc give the ids and texts of `OnnxTranslator`, and what
docs/onnx_artefact.md shows for browsers gives the ids."""

import functools
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
from sentencepiece import SentencePieceProcessor

from keras_transformer.export import OnnxTranslator

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TEXTS = ["hello, how are you?", "", "the river is blue", "ein Wort, das niemand kennt: Žluť"]


@pytest.fixture(scope="module")
def artefact(exported_portable: Any) -> Path:
    """A model, exported for other runtimes."""
    return exported_portable.path


@pytest.fixture(scope="module")
def expected(artefact: Path) -> list[tuple[list[int], str]]:
    """Each text's ids and translation."""
    found = OnnxTranslator(artefact).translate_n_best(TEXTS)
    assert any(len(best[0].ids) > 1 for best in found)
    return [(best[0].ids, best[0].text) for best in found]


def translate(command: list[str | Path], artefact: Path) -> list[str]:
    lines = "".join(f"{text}\n" for text in TEXTS)
    result = subprocess.run(
        [*command, artefact], input=lines, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.mark.exhaustive
def test_node_gives_the_same_ids_and_texts(artefact: Path, expected: list) -> None:
    node = shutil.which("node")
    if node is None or not (EXAMPLES / "node_modules").is_dir():
        pytest.skip("needs node and its packages: run `npm ci --prefix examples`")
    lines = map(json.loads, translate([node, EXAMPLES / "client.mjs"], artefact))
    assert [(line["ids"], line["text"]) for line in lines] == expected


def test_node_refuses_operators_that_it_does_not_have(artefact: Path, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (EXAMPLES / "node_modules").is_dir():
        pytest.skip("needs node and its packages: run `npm ci --prefix examples`")
    manifest = json.loads((artefact / "manifest.json").read_text()) | {"target": "native"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    result = subprocess.run(
        [node, EXAMPLES / "client.mjs", tmp_path], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 1
    assert "the artefact has target native: export it with --target portable" in result.stderr


@pytest.fixture
def site(artefact: Path, tmp_path: Path) -> Iterator[str]:
    """Address of a checkout with the snippet of docs/onnx_artefact.md in it, and the artefact."""
    page = EXAMPLES.parent.joinpath("docs", "onnx_artefact.md").read_text("utf-8")
    [snippet] = re.findall(r"```js\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "translate.mjs").write_text(snippet, "utf-8")
    (tmp_path / "examples").symlink_to(EXAMPLES)
    (tmp_path / "exported").mkdir()
    (tmp_path / "exported" / "portable").symlink_to(artefact)
    handler = functools.partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.skipif(
    not (EXAMPLES / "node_modules" / "onnxruntime-web").is_dir(),
    reason="needs onnxruntime-web: run `npm ci --prefix examples`",
)
def test_a_browser_gives_the_same_ids(
    browser: Any, site: str, artefact: Path, expected: list
) -> None:
    tokenizer = SentencePieceProcessor(model_file=str(artefact / "tokenizer.model"))
    page = browser.new_page()
    page.goto(site)
    found = page.evaluate(
        """async (sentences) => {
            const { translate } = await import("/translate.mjs");
            const found = [];
            for (const pieces of sentences) found.push(await translate(pieces));
            return found;
        }""",
        tokenizer.encode(TEXTS),
    )
    assert found == [ids for ids, _ in expected]


def test_cpp_gives_the_same_ids_and_texts(artefact: Path, expected: list, tmp_path: Path) -> None:
    lines = translate([_compile(tmp_path)], artefact)
    found = [line.partition("\t")[::2] for line in lines]
    assert [([int(id) for id in ids.split()], text) for text, ids in found] == expected


def test_the_lock_of_node_packages_names_no_registry() -> None:
    packages = json.loads((EXAMPLES / "package-lock.json").read_text())["packages"]
    assert {name for name, package in packages.items() if "resolved" in package} == set()
    assert all("integrity" in package for name, package in packages.items() if name)


def _compile(directory: Path) -> Path:
    """Builds the C++ client with the library that onnxruntime's Python package brings."""
    places = [os.environ.get("ONNXRUNTIME_INCLUDE", ""), "/usr/include", "/usr/local/include"]
    folders = [Path(place, more) for place in places if place for more in ("", "onnxruntime")]
    headers = [folder for folder in folders if (folder / "onnxruntime_cxx_api.h").exists()]
    capi = Path(onnxruntime.__file__).parent / "capi"
    libraries = [file for file in capi.glob("libonnxruntime.so.*") if re.search(r"\d$", file.name)]
    compiler = shutil.which("c++")
    if compiler is None or not headers or not libraries:
        pytest.skip(
            "needs a C++ compiler and onnxruntime's headers: install libonnxruntime-dev, or name "
            "their folder in ONNXRUNTIME_INCLUDE"
        )
    if not Path("/usr/include/sentencepiece_processor.h").exists():
        pytest.skip("needs SentencePiece's C++ library: install libsentencepiece-dev")
    # The name that the library gives itself, by which the program looks for it.
    (directory / "libonnxruntime.so.1").symlink_to(libraries[0])
    program = directory / "client"
    subprocess.run(
        [compiler, "-std=c++17", "-Wall", "-Werror", f"-I{headers[0]}", EXAMPLES / "client.cc"]
        + ["-o", program, libraries[0], f"-Wl,-rpath,{directory}", "-lsentencepiece"],
        check=True,
        timeout=300,
    )
    return program
