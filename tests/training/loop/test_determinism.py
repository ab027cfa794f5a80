"""`deterministic`: two processes end with the same weights, bit by bit."""

import subprocess
import sys
from pathlib import Path

import numpy as np

RUN = """
import sys
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train

words = ("ab", "ba", "cad", "dac", "bed", "deb")
lines = [f"{a} {b}" for a in words for b in words] * 8
sizes = {"num_heads": 4, "num_encoder_layers": 2, "num_decoder_layers": 2}
options = TrainOptions(max_steps=8, batch_tokens=1024, warmup_steps=4, deterministic=True)
train(Corpus(Pairs(lines, lines, "w")), sys.argv[1], overrides=sizes, vocab_size=16,
      options=options)
"""


def test_two_deterministic_runs_are_equal_to_the_last_bit(tmp_path: Path) -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", RUN, str(tmp_path / name)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for name in ("a", "b")
    ]
    for run in runs:
        _, errors = run.communicate(timeout=280)
        assert run.returncode == 0, errors.decode()
    paths = [tmp_path / name / "checkpoints" / "step_00000008.npz" for name in ("a", "b")]
    with np.load(paths[0]) as first, np.load(paths[1]) as second:
        assert first.files == second.files
        for name in first.files:
            assert first[name].tobytes() == second[name].tobytes(), name
    losses = [(tmp_path / name / "losses.tsv").read_text() for name in ("a", "b")]
    assert losses[0] == losses[1]
