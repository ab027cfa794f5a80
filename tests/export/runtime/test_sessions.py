"""Sessions are opened with a valid number of threads and only for the graphs that are described."""

import dataclasses
from typing import Any

import pytest

from keras_transformer.export import Manifest
from keras_transformer.export.runtime.sessions import available_cores, open_sessions


@pytest.mark.parametrize("threads", [1.5, True, "2"])
def test_threads_of_another_type_are_refused(exported: Any, threads: object) -> None:
    with pytest.raises(TypeError, match="threads must be an integer or None, got"):
        open_sessions(Manifest.read(exported.path), exported.path, threads)


def test_threads_reach_both_sessions(exported: Any) -> None:
    for threads, expected in ((None, available_cores()), (3, 3)):
        sessions = open_sessions(Manifest.read(exported.path), exported.path, threads)
        found = [one.get_session_options().intra_op_num_threads for one in sessions]
        assert found == [expected, expected]


def test_a_graph_that_the_manifest_does_not_describe_is_refused(exported: Any) -> None:
    manifest = Manifest.read(exported.path)
    encoder = manifest.graphs["encoder"]
    swapped = dataclasses.replace(encoder, outputs=encoder.outputs[::-1])
    wrong = dataclasses.replace(manifest, graphs={**manifest.graphs, "encoder": swapped})
    with pytest.raises(ValueError, match="encoder.onnx has the outputs cross_key_0.*manifest"):
        open_sessions(wrong, exported.path, threads=1)
