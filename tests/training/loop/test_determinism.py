"""`deterministic`: two runs end with the same weights, bit by bit."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

RUN = """
import sys
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train

words = ("ab", "ba", "cad", "dac", "bed", "deb")
lines = [f"{a} {b}" for a in words for b in words] * 8
sizes = {"num_heads": 4, "num_encoder_layers": 1, "num_decoder_layers": 1}
options = TrainOptions(max_steps=8, batch_tokens=1024, warmup_steps=4, deterministic=True)
for directory in sys.argv[1:]:
    train(Corpus(Pairs(lines, lines, "w")), directory, overrides=sizes, vocab_size=16,
          options=options)
"""


@pytest.mark.exhaustive
def test_two_deterministic_runs_are_equal_to_the_last_bit(tmp_path: Path) -> None:
    # In a process of its own: TensorFlow stays deterministic once it is.
    command = [sys.executable, "-c", RUN, str(tmp_path / "a"), str(tmp_path / "b")]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    paths = [tmp_path / name / "checkpoints" / "step_00000008.npz" for name in ("a", "b")]
    with np.load(paths[0]) as first, np.load(paths[1]) as second:
        assert first.files == second.files
        for name in first.files:
            assert first[name].tobytes() == second[name].tobytes(), name
    losses = [(tmp_path / name / "losses.tsv").read_text() for name in ("a", "b")]
    assert losses[0] == losses[1]
