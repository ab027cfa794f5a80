"""The bound of searches by memory: nothing is tried that the machine cannot hold."""

from pathlib import Path

import pytest

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.generation.engine import check_prompts
from keras_transformer.search import memory
from keras_transformer.search.memory import MOST_BYTES, HypothesisSize, limit_bytes
from keras_transformer.search.model_limits import ModelLimits
from keras_transformer.search.options import SearchOptions

BASE = TransformerConfig.preset("base", vocab_size=32_000)


@pytest.fixture(autouse=True)
def _four_gibibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "limit_bytes", lambda: 4 << 30)


def test_a_hypothesis_is_its_keys_values_and_logits() -> None:
    assert HypothesisSize.of(BASE.to_dict()) == (6 * 2 * 512 * 4, 32_000 * 4)
    grouped = DecoderConfig.preset("llama-tiny", vocab_size=100)
    assert HypothesisSize.of(vars(grouped)) == (4 * 2 * 64 * 4, 400)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_size": 100_000}, r"beam_size=100000 would hold 597.9 GiB .* be 669 here"),
        ({"sample": True, "num_hypotheses": 10**9}, "num_hypotheses=1000000000 would hold"),
    ],
)  # fmt: skip
def test_more_hypotheses_than_fit_are_refused_before_any_work(options: dict, message: str) -> None:
    chosen = SearchOptions(**options)
    with pytest.raises(ValueError, match=message):
        ModelLimits.of(BASE.to_dict(), BASE.special_ids).check_search([[5]], chosen, None)
    with pytest.raises(ValueError, match=message.split("=")[0]):
        check_prompts(DecoderConfig.preset("gpt2", vocab_size=32_000), [[5]], chosen)


def test_what_fits_is_allowed_whatever_the_longest_translation_could_be() -> None:
    limits = ModelLimits.of(BASE.to_dict(), BASE.special_ids)
    for options in ({"beam_size": 600}, {"beam_size": 64, "max_length": 2**20}):
        assert limits.fit(SearchOptions(**options)) == SearchOptions(**options)


@pytest.mark.parametrize(
    ("tokens", "message"), [(0, "must be at least 1, got 0"), (10**9, "batch_tokens=1000000000")]
)  # fmt: skip
def test_batches_are_bounded(tokens: int, message: str) -> None:
    size = HypothesisSize.of(BASE.to_dict())
    size.check_batch(4096)
    with pytest.raises(ValueError, match=message):
        size.check_batch(tokens)


def test_the_limit_is_half_of_what_is_available(tmp_path: Path) -> None:
    assert limit_bytes(tmp_path) == MOST_BYTES
    for name, text, limit in (
        ("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:  4194304 kB\n", 2 << 30),
        ("sys/fs/cgroup/memory.max", f"{1 << 30}\n", 1 << 29),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", f"{1 << 28}", 1 << 27),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        assert limit_bytes(tmp_path) == limit
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("max\n")
    (tmp_path / "sys/fs/cgroup/memory/memory.limit_in_bytes").write_text(str(2**63 - 4096))
    assert limit_bytes(tmp_path) == 2 << 30
