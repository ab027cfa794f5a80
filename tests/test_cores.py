"""keras_transformer/cores.py: affinity and the CPU quotas of control groups, from written files."""

import os
from pathlib import Path

import pytest
from written_groups import V1, V2, v1, v2, write

from keras_transformer.cores import available_cores, quota_cores
from keras_transformer.runtime.onnx_graphs import sessions


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("max 100000", None),
        ("400000 100000", 4),
        ("150000 100000", 2),
        ("100001 100000", 2),
        ("10000 100000", 1),
        ("30000 10000\n", 3),
        # What no kernel writes.
        *((text, None) for text in ("", "max", "200000", "0 100000", "100000 0", "-1 100000")),
        *((text, None) for text in ("a b", "1 2 3", "9" * 5000 + " 1", "\0")),
    ],
)
def test_version_2_has_one_file_of_quota_and_period(
    text: str, cores: int | None, tmp_path: Path
) -> None:
    assert quota_cores(v2(tmp_path, "/a", {"a/cpu.max": text})) == cores


@pytest.mark.parametrize(
    ("quota", "period", "cores"),
    [("-1", "100000", None), ("250000", "100000", 3), ("50000", "100000", 1), ("5", "", None)],
)
def test_version_1_has_two_files(
    quota: str, period: str, cores: int | None, tmp_path: Path
) -> None:
    files = {"a/cpu.cfs_quota_us": quota, "a/cpu.cfs_period_us": period}
    assert quota_cores(v1(tmp_path, "/a", files)) == cores


def test_the_smallest_quota_up_the_hierarchy_counts(tmp_path: Path) -> None:
    files = {"a/cpu.max": "200000 100000", "a/b/cpu.max": "max 100000", "a/b/c/cpu.max": "5 1"}
    assert quota_cores(v2(tmp_path, "/a/b/c", files)) == 2


@pytest.mark.parametrize("group", ["/docker/abc/task", "/", "/../../elsewhere"])
def test_a_container_may_see_the_path_on_its_host(group: str, tmp_path: Path) -> None:
    root = v2(tmp_path, group, {"cpu.max": "300000 100000"}, mount_root="/docker/abc")
    assert quota_cores(root) == 3


def test_version_1_below_a_mounted_group(tmp_path: Path) -> None:
    files = {"task/cpu.cfs_quota_us": "100000", "task/cpu.cfs_period_us": "100000"}
    assert quota_cores(v1(tmp_path, "/docker/abc/task", files, mount_root="/docker/abc")) == 1


def test_both_versions_mounted_together_and_spaces_in_names(tmp_path: Path) -> None:
    mounts = [
        V2.format(root="/", place="/sys/unified"),
        V1.format(root="/", place=r"/sys/c\040p", controllers="cpu,cpuacct"),
    ]
    files = {
        "sys/unified/a/cpu.max": "600000 100000",
        "sys/c p/b/cpu.cfs_quota_us": "200000",
        "sys/c p/b/cpu.cfs_period_us": "100000",
    }
    assert quota_cores(write(tmp_path, "3:cpu,cpuacct:/b\n0::/a\n", mounts, files)) == 2


@pytest.mark.parametrize("spoilt", ["cgroup", "mountinfo"])
def test_files_that_are_missing_or_odd_set_no_quota(spoilt: str, tmp_path: Path) -> None:
    root = v2(tmp_path, "/a", {"a/cpu.max": "100000 100000"})
    assert quota_cores(root) == 1
    for content in (b"", b"odd\n0\n:::\n31 - cgroup2\n", b"\xff\xfe"):
        (root / "proc/self" / spoilt).write_bytes(content)
        assert quota_cores(root) is None
    (root / "proc/self" / spoilt).unlink()
    assert quota_cores(root) is None and quota_cores(tmp_path / "none") is None


def test_the_affinity_counts_too_and_onnxruntime_gets_the_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = v2(tmp_path, "/a", {"a/cpu.max": "250000 100000"})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert available_cores(root) == 3 and available_cores(tmp_path / "none") == 8
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert available_cores(root) == 2
    monkeypatch.setattr(sessions, "available_cores", lambda: available_cores(root))
    assert sessions.check_threads(None) == 2
