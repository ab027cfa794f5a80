"""The REST side keeps to its own description, whatever is sent: schemathesis makes requests out of
/openapi.json, right ones and wrong ones.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)
# A client that gives its request no time is answered 504, as TensorFlow Serving does.
SETTINGS = """
[checks]
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "504"]
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("is_chat", [False, True])
def test_no_request_gets_a_500_and_every_answer_is_as_described(
    launch: Callable[..., Any], exported: Any, chat_artefact: Path, is_chat: bool, tmp_path: Path
) -> None:
    artefact = chat_artefact if is_chat else exported.path
    server = launch(artefact, "--max-length=8", "--version-labels=stable=1")
    (tmp_path / "schemathesis.toml").write_text(SETTINGS, encoding="utf-8")
    command = [
        Path(sys.executable).with_name("schemathesis"),
        "run",
        f"{server.root}/openapi.json",
        "--seed=1",
        "--max-examples=25",
        "--phases=examples,coverage,fuzzing",
        f"--checks={','.join(CHECKS)}",
        "--continue-on-failure",
        "--no-shrink",
        "--report=har",
        "--report-har-path=calls.har",
        "--no-color",
    ]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=400)
    assert result.returncode == 0, result.stdout + result.stderr
    assert server.process.poll() is None

    # The run is worth something only where requests get through.
    entries = json.loads((tmp_path / "calls.har").read_text(encoding="utf-8"))["log"]["entries"]
    answered = {
        entry["request"]["url"].partition("?")[0].rpartition("/")[2]
        for entry in entries
        if entry["response"]["status"] == 200
    }
    assert {"demo:predict", "stable:predict"} <= answered, answered
    assert ("completions" if is_chat else "translate") in answered, answered
    assert len(entries) > 200
