"""The load benchmark as a whole, on a model that takes seconds, and its command line."""

import json
from pathlib import Path

import pytest
from fresh_process import run_script
from speed import artefacts


@pytest.fixture(scope="module")
def artefact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model's artefact."""
    folder = artefacts.size_folder(tmp_path_factory.mktemp("work"), "mini")
    artefacts.make(folder, [artefacts.ours("float32")], size="mini")
    return folder / artefacts.ours("float32")


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.txt"
    path.write_text("batu keli\n\nmoru\nbatu keli\nkeli moru batu\nmoru moru\n", encoding="utf-8")
    return path


@pytest.mark.exhaustive
def test_a_small_load(benchmarks: Path, artefact: Path, sentences: Path, tmp_path: Path) -> None:
    asked = ["--clients", "1,4", "--seconds", "1", "--rounds", "2"]
    files = ["--artefact", str(artefact), "--sentences", str(sentences)]
    done = run_script(benchmarks / "serve.py", *asked, *files, "--json", str(tmp_path / "out.json"))
    assert done.returncode == 0, done.stderr
    alone, together = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["loads"]
    for load in (alone, together):
        assert load["ratio"] == pytest.approx(load["ours"]["rate"] / load["plain"]["rate"])
        for name in ("ours", "plain"):
            assert load[name]["requests"] > 0
            assert load[name]["lost"] == load[name]["wrong"] == 0
    assert alone["ours"]["batch"] == 1
    assert 1 < together["ours"]["batch"] <= 4
    assert alone["over_bare"] == pytest.approx(alone["ours"]["p50"] / alone["bare_p50"])
    assert "over_bare" not in together
    assert done.stdout == (tmp_path / "out.md").read_text(encoding="utf-8") + "\n"
    assert "| 4 | ours |" in done.stdout
    assert "p50 of one client" in done.stdout


@pytest.mark.exhaustive
def test_a_short_soak(benchmarks: Path, artefact: Path, sentences: Path, tmp_path: Path) -> None:
    asked = ["--clients", "4", "--soak", "4", "--pause", "0.1", "--json", str(tmp_path / "s.json")]
    done = run_script(
        benchmarks / "serve.py", *asked, "--artefact", str(artefact), "--sentences", str(sentences)
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))["soak"]
    assert found["requests"] > 0 and found["lost"] == found["wrong"] == 0
    assert [one["loads"] for one in found["samples"]] == list(range(len(found["samples"])))
    assert len(found["samples"]) > 2 and all(one["rss"] > 10 for one in found["samples"])
    assert "| seconds | loads | MB |" in done.stdout and "0 lost, 0 wrong" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--soak", "0"], "--soak must be above 0"),
        (["--clients", "0"], "must be a whole number above 0, got '0'"),
        (["--seconds", "0"], "--seconds must be above 0"),
        (["--json", "no/such/file"], "--json no/such/file: there is no directory no/such"),
        (["--clients", "5"], "holds 4 different sentences, but each of 5 clients needs one"),
    ],
)
def test_a_wrong_option_is_named(
    benchmarks: Path, sentences: Path, arguments: list[str], message: str
) -> None:
    done = run_script(
        benchmarks / "serve.py", *arguments, "--artefact", "none", "--sentences", str(sentences)
    )
    assert done.returncode in (1, 2)
    assert message in done.stderr


def test_an_artefact_that_is_missing_is_named(benchmarks: Path, sentences: Path) -> None:
    files = ["--artefact", "no/such", "--sentences", str(sentences), "--clients", "1"]
    done = run_script(benchmarks / "serve.py", *files)
    assert done.returncode == 1
    assert done.stderr == "serve.py: no directory no/such: export a model there first.\n"
