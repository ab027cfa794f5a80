"""The server as a process of its own, as users start it: one line, one log, exit code 0."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import requests


# gRPC's packages may not write into the log: every line of it is JSON.
@pytest.mark.parametrize(
    ("number", "flags"), [(signal.SIGTERM, ["--grpc-port", "0"]), (signal.SIGINT, [])]
)
def test_a_process_serves_and_ends_well_and_its_log_holds_no_text(
    exported: Any, tmp_path: Path, number, flags
) -> None:
    module = ["-m", "keras_transformer.cli"]
    command = [sys.executable, *module, "serve", str(exported.path), "--port", "0", *flags]
    log = tmp_path / "log"
    with (
        log.open("w") as stream,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stream, text=True) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline()
        pattern = r"serving artefact version 1: REST (http://127\.0\.0\.1:\d+)(, gRPC \S+)?\n"
        found = re.fullmatch(pattern, line)
        assert found, line + log.read_text()
        response = requests.post(
            f"{found[1]}/v1/models/artefact:predict",
            json={"instances": ["the red dog"]},
            timeout=60,
        )
        assert response.status_code == 200
        process.send_signal(number)
        assert process.wait(60) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    [request] = [line for line in lines if "request" in line]
    assert (request["code"], request["sentences"], request["batch"]) == ("OK", 1, 1)
    assert {"time", "protocol", "signature", "queue_ms", "total_ms"} < set(request)
    assert "red" not in log.read_text()
