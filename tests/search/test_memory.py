"""The bound of searches by memory: nothing is tried that the machine cannot hold."""

from pathlib import Path

import pytest
from written_groups import v1, v2

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.generation.engine import check_prompts
from keras_transformer.search import model_limits
from keras_transformer.search.memory import MOST_BYTES, limit_bytes
from keras_transformer.search.model_limits import HypothesisSize, ModelLimits
from keras_transformer.search.options import SearchOptions

BASE = TransformerConfig.preset("base", vocab_size=32_000)


@pytest.fixture(autouse=True)
def _four_gibibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_limits, "limit_bytes", lambda: 4 << 30)


def test_a_hypothesis_is_its_keys_values_and_logits() -> None:
    assert HypothesisSize.of(BASE.to_dict()) == (6 * 2 * 512 * 4, 32_000 * 4)
    grouped = DecoderConfig.preset("llama-tiny", vocab_size=100)
    assert HypothesisSize.of(vars(grouped)) == (4 * 2 * 64 * 4, 400)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_size": 100_000}, r"beam_size=100000 would need 597.9 GiB .* at most 669"),
        ({"sample": True, "num_hypotheses": 10**9}, "num_hypotheses=1000000000 would need"),
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
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9000000 kB\n\nMemAvailable:  4194304 kB\n")
    assert limit_bytes(tmp_path) == 2 << 30


def test_the_smallest_limit_of_the_groups_counts_in_version_2(tmp_path: Path) -> None:
    files = {
        "memory.max": "max\n",
        "pod/memory.max": f"{1 << 30}\n",
        "pod/task/memory.max": f"{1 << 31}\n",
        "other/memory.max": "4096\n",
    }
    assert limit_bytes(v2(tmp_path, "/pod/task", files)) == 1 << 29


@pytest.mark.parametrize("group", ["/docker/abc/task", "/elsewhere"])
def test_the_smallest_limit_of_the_groups_counts_in_version_1(group: str, tmp_path: Path) -> None:
    files = {
        "memory.limit_in_bytes": f"{1 << 29}",
        "task/memory.limit_in_bytes": str(2**63 - 4096),
        "other/memory.limit_in_bytes": "4096",
    }
    root = v1(tmp_path, group, files, mount_root="/docker/abc", controllers="memory")
    assert limit_bytes(root) == 1 << 28


@pytest.mark.parametrize("text", ["max", "", "0", "-1", "1 2", "many", "9" * 5000])
def test_what_is_no_number_of_bytes_is_no_limit(text: str, tmp_path: Path) -> None:
    assert limit_bytes(v2(tmp_path, "/a", {"a/memory.max": text})) == MOST_BYTES


def test_limits_of_other_controllers_do_not_count(tmp_path: Path) -> None:
    root = v1(tmp_path, "/a", {"a/memory.limit_in_bytes": "4096"}, controllers="cpu,cpuacct")
    assert limit_bytes(root) == MOST_BYTES
