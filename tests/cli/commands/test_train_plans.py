"""`train --dry-run` and `train --print-config`: what a run would be, with nothing written."""

import pytest
import yaml

from keras_transformer.runs.run_directory import RunDirectory

pytestmark = pytest.mark.usefixtures("few_updates")

WORDS = ["red", "green", "blue", "small", "large", "old", "new", "dog", "cat", "house"]


@pytest.fixture
def data(tmp_path):
    """Flags of 200 labelled texts."""
    texts = [f"{first} {second}" for first in WORDS for second in WORDS] * 2
    lines = [f"{'animal' if text[-1] in 'gt' else 'thing'}\t{text}\n" for text in texts]
    for name, share in (("train", lines[::2]), ("valid", lines[1::20])):
        (tmp_path / f"{name}.tsv").write_text("".join(share), encoding="utf-8")
    train, valid = tmp_path / "train.tsv", tmp_path / "valid.tsv"
    flags = "--task", "classify", "--train-tsv", train, "--valid-tsv", valid
    return *flags, "--model.num-layers", 1, "--output", tmp_path / "run"


def test_a_dry_run_tells_the_plan_and_writes_nothing(run_cli, data, tmp_path) -> None:
    result = run_cli("train", *data, "--dry-run")
    assert result.code == 0
    assert "plan: 100 texts" in result.out
    assert "seconds an update" in result.out
    assert "nothing was written" in result.out
    assert not (tmp_path / "run").exists()


def test_the_printed_config_has_what_the_run_has(run_cli, data, tmp_path) -> None:
    data = (*data, "--noise", "emoji=0", "capitals=0.5")
    printed = run_cli("train", *data, "--max-steps", 2, "--print-config")
    assert printed.code == 0
    assert not (tmp_path / "run").exists()
    (tmp_path / "settled.yaml").write_text(printed.out, encoding="utf-8")
    again = run_cli("train", "--config", tmp_path / "settled.yaml", "--print-config")
    assert again.out == printed.out
    assert run_cli("train", *data, "--max-steps", 2).code == 0
    record = RunDirectory(tmp_path / "run").load_training()
    assert record["options"]["noise"] == ["capitals=0.5"]
    assert RunDirectory(tmp_path / "run").load_training_text().knows_capitals
    settled = yaml.safe_load(printed.out)
    for name, value in record["options"].items():
        assert settled.get(name) == value, name
    assert settled["vocab_size"] == record["config"]["vocab_size"]
    assert settled["model"]["model_dim"] == record["config"]["model_dim"]
