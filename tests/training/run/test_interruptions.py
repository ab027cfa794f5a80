"""What ends a run or bends its way: a full disk, a bad batch, damage, patience; in real runs."""

import contextlib
import json
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.runs.checkpoints import checkpoint_step, list_checkpoints
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.loop.interrupts import Terminated
from keras_transformer.training.run.loss_record import read_losses
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train

pytestmark = pytest.mark.usefixtures("few_updates")

LAYERS = {"num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
# Wide, so that a checkpoint is the largest file of the run: 1.4 MB.
SIZES = {"model_dim": 8, "feed_forward_dim": 3000, **LAYERS}
WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
LINES = [f"{a} {b}" for a in WORDS for b in WORDS]


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Any]:
    """`start(corpus=…, callbacks=…, joint_vocabulary=…, **options)`: trains into `tmp_path`."""

    def run(
        corpus: Corpus | None = None,
        callbacks: list | None = None,
        joint_vocabulary: bool = True,
        **options: Any,
    ) -> Any:
        corpus = corpus or Corpus(*(Pairs(LINES[:end], LINES[:end], "w") for end in (30, 3)))
        given = {"batch_tokens": 48, "checkpoint_steps": 2, "max_steps": 4, "bleu_sentences": 0}
        given |= {"learning_rate": 0.01, "warmup_steps": 4, "r_drop": 0.0}
        return train(
            corpus,
            tmp_path,
            overrides=SIZES,
            vocab_size=16,
            joint_vocabulary=joint_vocabulary,
            options=TrainOptions(**{**given, **options}),
            callbacks=callbacks,
            resume=True,
        ).model

    return run


def steps(directory: Path) -> list[int]:
    return [checkpoint_step(path) for path in list_checkpoints(directory / "checkpoints")]


def read_record(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "training.json").read_text())


@pytest.mark.exhaustive
def test_without_room_for_a_checkpoint_training_ends_and_the_earlier_ones_are_intact(
    start, tmp_path: Path
) -> None:
    start(max_steps=2)
    before = {path: path.read_bytes() for path in list_checkpoints(tmp_path / "checkpoints")}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"cannot write .*step_00000004\.npz: .* make room"):
            start(max_steps=4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path: path.read_bytes() for path in before} == before
    assert steps(tmp_path) == [2]
    assert not list(tmp_path.rglob("*partial*"))
    start(max_steps=4)
    assert steps(tmp_path) == [2, 4]
    assert list(read_losses(tmp_path / "losses.tsv")) == [1, 2, 3, 4]


class Spoil(keras.callbacks.Callback):
    """Makes the source embedding of one id so large that it is not finite once it is scaled."""

    def __init__(self, directory: Path, word: str) -> None:
        super().__init__()
        self.directory, self.word = directory, word

    def on_train_begin(self, logs: Any = None) -> None:
        tokenizer = Tokenizer.load(self.directory / "source_tokenizer.model")
        others = {i for ids in tokenizer.encode(LINES) for i in ids}
        own = sorted(set(tokenizer.encode([self.word])[0]) - others)
        table = next(
            v
            for v in self.model.trainable_variables
            if v.path.startswith("source_embeddings/tokens")
        )
        rows = np.asarray(table).copy()
        rows[own] = 3e38
        table.assign(rows)


def test_a_batch_that_brings_nan_is_named_and_the_checkpoints_stay(start, tmp_path: Path) -> None:
    source = [*LINES[:17], "zzz", *LINES[17:30]]
    corpus = Corpus(Pairs(source, LINES[:31], "w"))
    with pytest.raises(FloatingPointError, match=r"the loss of update \d+ is nan") as error:
        start(
            corpus=corpus,
            callbacks=[Spoil(tmp_path, "zzz")],
            joint_vocabulary=False,
            checkpoint_steps=1,
            max_steps=20,
        )
    assert "18" in (tmp_path / "bad_batch.txt").read_text().split()
    good = read_losses(tmp_path / "losses.tsv")
    assert f"update {len(good) + 1} is nan" in str(error.value)
    assert all(np.isfinite(loss) for loss in good.values())
    assert max(steps(tmp_path), default=0) == len(good)
    assert not (tmp_path / "model.keras").exists()


@pytest.mark.exhaustive
def test_a_damaged_newest_checkpoint_costs_a_round_and_nothing_else(start, tmp_path: Path) -> None:
    start(max_steps=6)
    expected = read_losses(tmp_path / "losses.tsv")
    newest = list_checkpoints(tmp_path / "checkpoints")[-1]
    newest.write_bytes(newest.read_bytes()[:1000])
    with pytest.warns(RuntimeWarning, match=r"step_00000006.npz is damaged.* step_00000004.npz"):
        start(max_steps=6)
    assert read_losses(tmp_path / "losses.tsv") == pytest.approx(expected, rel=1e-6)
    assert read_record(tmp_path)["history"]["step"] == [2, 4, 6]


class Worsen(keras.callbacks.Callback):
    """Lets the validation loss rise from the second round on, by spoiling a weight's scale."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if epoch:
            for variable in self.model.trainable_variables:
                variable.assign(variable * 3)


def test_patience_ends_training_and_the_best_is_kept_and_saved(start, tmp_path: Path) -> None:
    settings = {"patience": 3, "average_checkpoints": 2, "final_model": "best", "max_steps": 40}
    settings |= {"checkpoint_steps": 1}
    model = start(callbacks=[Worsen()], **settings)
    record = read_record(tmp_path)
    assert record["history"]["step"] == [1, 2, 3, 4]
    assert record["best"] == {"step": 1, "val_loss": record["history"]["val_loss"][0]}
    assert steps(tmp_path) == [1, 3, 4]
    with np.load(list_checkpoints(tmp_path / "checkpoints")[0]) as best:
        saved = {name.split("/")[-1]: best[name] for name in best.files if "model/" in name}
    name = next(iter(saved))
    found = {variable.name: np.asarray(variable) for variable in model.variables}
    np.testing.assert_array_equal(found[name], saved[name])
    # Called again, it is over: no further round.
    start(**settings)
    assert read_record(tmp_path)["history"]["step"] == [1, 2, 3, 4]


def test_translations_that_get_no_better_end_training(start, tmp_path: Path, capsys) -> None:
    # Nothing is learnt, so that the first round stays the best.
    settings = {"early_stopping": "bleu", "patience": 1, "learning_rate": 1e-9, "max_steps": 40}
    settings |= {"bleu_sentences": 1, "average_checkpoints": 1, "checkpoint_steps": 1}
    short = Corpus(Pairs(LINES, LINES, "w"), Pairs(["ab"], ["ab"], "w"))
    start(corpus=short, **settings)
    record = read_record(tmp_path)
    assert record["history"]["step"] == [1, 2]
    assert {*record["best"]} == {"step", "val_bleu"} and record["best"]["step"] == 1
    assert "val_bleu" in record["final_model"] and "val_chrf" in record["history"]
    said = capsys.readouterr().out
    assert "after 1 rounds without a higher BLEU of the validation translations" in said
    assert "no higher BLEU of the validation translations for 1 rounds: training ends" in said
    start(corpus=short, **settings)
    assert read_record(tmp_path)["history"]["step"] == [1, 2]
    assert "no update is made: after 2 of them there was no higher BLEU" in capsys.readouterr().out


def test_patience_without_validation_is_refused_before_any_work(start, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="patience chooses by the validation loss, but there are"):
        start(corpus=Corpus(Pairs(LINES, LINES, "w")), patience=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("cause", "kind"), [("; No space left on device", OSError), ("OOM", Exception)]
)
def test_a_full_disk_under_the_logs_is_told_from_a_lack_of_memory(
    start, tmp_path: Path, cause: str, kind: type[Exception]
) -> None:
    def fail(*_: Any) -> None:
        raise tf.errors.ResourceExhaustedError(None, None, f"events.out {cause}")

    full = keras.callbacks.LambdaCallback(on_train_begin=fail)
    expected = r"cannot write .*logs: No space .* make room" if kind is OSError else "OOM"
    with pytest.raises(kind, match=expected):
        start(callbacks=[full])


def lose_an_interrupt(*_: Any, **__: Any) -> None:
    """Drops it, as Keras's `ops.shape` does while a function is traced."""
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT interrupts, which it does not in a process that a shell has put in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        pytest.param("on_train_batch_begin", [], marks=pytest.mark.exhaustive),
        ("on_train_batch_end", []),
        pytest.param("on_epoch_end", [2], marks=pytest.mark.exhaustive),
        pytest.param("on_train_end", [2, 4], marks=pytest.mark.exhaustive),
    ],
)
def test_an_interrupt_that_is_lost_ends_training_all_the_same(
    start, tmp_path: Path, moment: str, kept: list[int]
) -> None:
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        start(callbacks=[keras.callbacks.LambdaCallback(**{moment: lose_an_interrupt})])
    assert steps(tmp_path) == kept
    assert signal.getsignal(signal.SIGINT) == handler


@pytest.mark.exhaustive
@pytest.mark.usefixtures("interruptible")
def test_a_round_in_whose_validation_an_interrupt_was_lost_is_not_kept(
    start, tmp_path: Path
) -> None:
    class Lose(keras.callbacks.Callback):
        def on_test_begin(self, logs: Any = None) -> None:
            lose_an_interrupt()

    with pytest.raises(KeyboardInterrupt):
        start(callbacks=[Lose()])
    assert steps(tmp_path) == [] and read_record(tmp_path)["history"]["step"] == []


@pytest.mark.exhaustive
@pytest.mark.usefixtures("interruptible")
def test_an_error_after_a_lost_interrupt_is_an_interrupt(start) -> None:
    def fail(*_: Any, **__: Any) -> None:
        lose_an_interrupt()
        raise ValueError("a shape was not finished")

    with pytest.raises(KeyboardInterrupt) as interrupt:
        start(callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=fail)])
    assert "a shape was not finished" in str(interrupt.value.__cause__)


@pytest.mark.exhaustive
def test_a_handler_of_ones_own_that_raises_nothing_does_not_end_training(
    start, tmp_path: Path
) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        start(callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=lose_an_interrupt)])
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT] * 2 and steps(tmp_path) == [2, 4]


class Send(keras.callbacks.Callback):
    """Sends the process a signal within the third update, or within the first validation."""

    def __init__(self, number: int, *, validating: bool = False) -> None:
        super().__init__()
        self.number, self.validating = number, validating

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if int(self.model.optimizer.iterations) == 2 and not self.validating:
            signal.raise_signal(self.number)

    def on_test_begin(self, logs: Any = None) -> None:
        if self.validating:
            signal.raise_signal(self.number)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("number", "error"),
    [
        (signal.SIGTERM, Terminated),
        pytest.param(signal.SIGINT, KeyboardInterrupt, marks=pytest.mark.exhaustive),
    ],
)
def test_a_round_that_a_signal_breaks_off_goes_on_where_it_was(
    start, tmp_path: Path, number: int, error: type[BaseException]
) -> None:
    with pytest.raises(error):
        start(callbacks=[Send(number)])
    assert (tmp_path / "checkpoints/interrupted_00000003.npz").exists() and steps(tmp_path) == [2]
    broken = start()
    assert {path.name for path in (tmp_path / "checkpoints").iterdir()} == {
        "step_00000002.npz",
        "step_00000004.npz",
    }
    assert list(read_losses(tmp_path / "losses.tsv")) == [1, 2, 3, 4]
    shutil.rmtree(tmp_path)
    for mine, unbroken in zip(broken.get_weights(), start().get_weights(), strict=True):
        np.testing.assert_allclose(mine, unbroken, atol=1e-6)


def test_a_validation_ends_before_sigterm_ends_training(start, tmp_path: Path) -> None:
    with pytest.raises(Terminated):
        start(callbacks=[Send(signal.SIGTERM, validating=True)])
    assert steps(tmp_path) == [2] and read_record(tmp_path)["history"]["step"] == [2]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
