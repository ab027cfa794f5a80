"""Worker processes: tasks are drawn as needed, errors come back, none outlives its parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keras_transformer.data.prepared.processes import run_tasks, worker_processes

PARENT = """
import os
from keras_transformer.data.prepared.processes import worker_processes
if __name__ == "__main__":
    with worker_processes(2) as pool:
        print(*{pool.submit(os.getpid).result() for _ in range(20)}, flush=True)
        input()
"""


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_results_come_and_tasks_are_drawn_as_they_can_be_used():
    drawn = []

    def tasks():
        for number in range(9):
            drawn.append(number)
            yield abs, (-number,)

    with worker_processes(2) as pool:
        results = run_tasks(pool, 2, tasks())
        first = next(results)
        assert len(drawn) <= 3
        assert sorted([first, *results]) == list(range(9))


def test_the_error_of_a_task_comes_back():
    with (
        pytest.raises(ValueError, match="invalid literal"),
        worker_processes(1) as pool,
    ):
        list(run_tasks(pool, 1, [(int, ("x",))]))


def test_no_worker_is_refused():
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"), worker_processes(0):
        pass


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_the_workers_of_a_killed_parent_end():
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with parent:
        workers = [int(pid) for pid in parent.stdout.readline().split()]
        assert workers and all(map(is_running, workers))
        os.kill(parent.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, workers))
