"""The warm-up schedule against equation 3."""

import keras
import numpy as np
import pytest

from keras_transformer.training.optimizer.schedule import WarmupSchedule


@pytest.mark.parametrize("step", [1, 2, 1000, 3999, 4000, 4001, 100_000])
def test_the_papers_schedule_is_equation_3(step: int) -> None:
    rate = WarmupSchedule.paper(model_dim=512, warmup_steps=4000)(step - 1)
    expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
    assert float(rate) == pytest.approx(expected, rel=1e-6)


def test_the_peak_stands_at_the_end_of_the_warm_up() -> None:
    schedule = WarmupSchedule(peak=0.002, warmup_steps=10)
    rates = [float(schedule(step)) for step in range(40)]
    assert int(np.argmax(rates)) == 9
    assert rates[9] == pytest.approx(0.002)
    assert rates[0] == pytest.approx(0.0002)
    assert rates[39] == pytest.approx(0.001)


def test_the_first_update_of_an_optimizer_has_the_rate_of_step_one() -> None:
    optimizer = keras.optimizers.SGD(WarmupSchedule(peak=1.0, warmup_steps=4))
    weight = keras.Variable(0.0)
    moves = []
    for _ in range(5):
        before = float(weight)
        optimizer.apply([keras.ops.ones(())], [weight])
        moves.append(before - float(weight))
    np.testing.assert_allclose(moves, [0.25, 0.5, 0.75, 1.0, np.sqrt(4 / 5)], rtol=1e-6)


def test_config_round_trip() -> None:
    schedule = WarmupSchedule(peak=0.003, warmup_steps=7)
    twin = keras.optimizers.schedules.deserialize(keras.optimizers.schedules.serialize(schedule))
    assert isinstance(twin, WarmupSchedule)
    assert (twin.peak, twin.warmup_steps) == (0.003, 7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 10), "peak learning rate must be positive, got 0.0"),
        ((float("nan"), 5), "peak learning rate must be positive, got nan"),
        ((float("inf"), 5), "peak learning rate must be positive, got inf"),
        ((0.1, 0), "warmup_steps must be at least 1, got 0"),
    ],
)
def test_values_out_of_range_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WarmupSchedule(*arguments)


def test_a_cooldown_ends_at_zero_and_leaves_the_rest_alone() -> None:
    plain = WarmupSchedule(peak=0.002, warmup_steps=10)
    cooled = WarmupSchedule(peak=0.002, warmup_steps=10, total_steps=100, cooldown_steps=40)
    for step in range(60):
        assert float(cooled(step)) == pytest.approx(float(plain(step)))
    factors = [float(cooled(step)) / float(plain(step)) for step in range(60, 100)]
    np.testing.assert_allclose(factors, np.arange(40, 0, -1) / 40, rtol=1e-5)
    assert float(cooled(100)) == 0.0


def test_a_cooldown_longer_than_the_run_is_refused() -> None:
    with pytest.raises(ValueError, match=r"cooldown_steps must lie in 0 to total_steps \(5\)"):
        WarmupSchedule(peak=0.1, warmup_steps=1, total_steps=5, cooldown_steps=6)
