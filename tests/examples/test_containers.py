"""The Dockerfile and the Kubernetes example: built or linted, and in line with the server."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from keras_transformer.cli.commands.serve import build_parser
from keras_transformer.serving.settings import ServeOptions

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


@pytest.fixture(scope="module")
def pod() -> Any:
    deployment, _ = yaml.safe_load_all((ROOT / "examples" / "kubernetes.yaml").read_text("utf-8"))
    return deployment["spec"]["template"]["spec"]


def has_docker() -> bool:
    command = ["docker", "info"]
    return (
        shutil.which("docker") is not None
        and not subprocess.run(command, capture_output=True, timeout=30).returncode
    )


@pytest.mark.skipif(not has_docker(), reason="no Docker that runs")
@pytest.mark.exhaustive
def test_the_image_is_built_and_knows_its_command() -> None:
    name = "keras-transformer-test"
    subprocess.run(["docker", "build", "--tag", name, str(ROOT)], check=True)
    run = ["docker", "run", "--rm", "--read-only", name, "--help"]
    assert "--drain-seconds" in subprocess.run(run, capture_output=True, text=True).stdout


def test_a_linter_finds_nothing_in_the_dockerfile() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.exists():
        pytest.skip("no hadolint: make test installs it where there is a network")
    found = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (found.stdout, found.returncode) == ("", 0)


def test_what_is_copied_is_there_and_not_ignored() -> None:
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.M)
    names = [name for line in copied for name in line.split()]
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert [name for name in names if not (ROOT / name).exists()] == []
    assert {f"!{name}" for name in names} <= set(ignored)


def test_the_image_runs_as_nobody_on_the_servers_port() -> None:
    assert re.search(r"^USER 10001:10001$", DOCKERFILE, re.M)
    assert f"EXPOSE {ServeOptions.port}\n" in DOCKERFILE
    assert f"http://127.0.0.1:{ServeOptions.port}/readyz" in DOCKERFILE


def test_the_pods_flags_are_the_servers(pod: Any) -> None:
    [server] = pod["containers"]
    given = build_parser().parse(server["args"])
    assert (given.host, given.port) == ("0.0.0.0", server["ports"][0]["containerPort"])
    pause = int(server["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > given.drain_seconds + pause


def test_the_pod_is_asked_whether_it_is_ready_and_may_write_nothing(pod: Any) -> None:
    [server] = pod["containers"]
    asked = [server[f"{name}Probe"]["httpGet"]["path"] for name in ("readiness", "liveness")]
    assert asked == ["/readyz", "/healthz"]
    security = server["securityContext"]
    assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"]
    assert pod["securityContext"]["runAsNonRoot"]
