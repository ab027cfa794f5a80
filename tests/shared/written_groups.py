"""Writes what Linux shows a process of its control groups: `proc/self` and the groups' files."""

from pathlib import Path

V2 = "31 23 0:28 {root} {place} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"
V1 = "32 31 0:29 {root} {place} rw,relatime - cgroup cgroup rw,{controllers}"
BLKIO = "36 31 0:33 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio"


def write(root: Path, groups: str, mounts: list[str], files: dict[str, str]) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    (root / "proc/self/mountinfo").write_text("\n".join(mounts) + "\n")
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def v2(root: Path, group: str, files: dict[str, str], mount_root: str = "/") -> Path:
    mount = V2.format(root=mount_root, place="/sys/fs/cgroup")
    placed = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    return write(root, f"0::{group}\n", [mount], placed)


def v1(
    root: Path,
    group: str,
    files: dict[str, str],
    mount_root: str = "/",
    controllers: str = "cpu,cpuacct",
) -> Path:
    folder = f"sys/fs/cgroup/{controllers}"
    mount = V1.format(root=mount_root, place=f"/{folder}", controllers=controllers)
    placed = {f"{folder}/{name}": text for name, text in files.items()}
    return write(root, f"4:blkio:/other\n2:{controllers}:{group}\n", [BLKIO, mount], placed)
