"""examples/fit.py: the parts of the package compose in plain `compile` and `fit`."""

import functools
import runpy
import sys
from pathlib import Path

import pytest

from keras_transformer import TransformerConfig

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "fit.py"


# With fewer layers than the example has, or as it stands.
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "fields",
    [
        {"num_encoder_layers": 1, "num_decoder_layers": 1},
        pytest.param({}, marks=pytest.mark.exhaustive),
    ],
)
def test_the_example_trains_and_translates(
    fields: dict[str, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--pairs", "400", "--epochs", "2"])
    preset = functools.partial(TransformerConfig.preset, **fields)
    monkeypatch.setattr(TransformerConfig, "preset", preset)
    runpy.run_path(str(SCRIPT), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    perplexities = [
        float(line.split("val_perplexity: ")[1].split()[0])
        for line in lines
        if "val_perplexity" in line
    ]
    assert len(perplexities) == 2
    assert perplexities[1] < perplexities[0]
    assert sum(" -> " in line for line in lines) == 3
