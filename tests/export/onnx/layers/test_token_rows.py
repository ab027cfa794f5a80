"""TokenRows: tokens leave a padded batch as rows and find their places again."""

from typing import Any

import numpy as np
import pytest

from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.layers.token_rows import TokenRows

MASKS = {
    "on the right": [[1, 1, 1], [1, 0, 0]],
    "on the left": [[0, 0, 1], [1, 1, 1]],
    "within": [[1, 0, 1], [0, 1, 0]],
    "nowhere": [[1, 1, 1], [1, 1, 1]],
    "a whole text": [[1, 1, 0], [0, 0, 0]],
    "everywhere": [[0, 0, 0], [0, 0, 0]],
}
WIDTH = 2


@pytest.fixture(scope="module")
def run(build: Any, open_graph: Any) -> Any:
    """A graph of values `(batch, length, 6)`, of a mask and of places of each text."""

    def emit(graph: GraphBuilder) -> dict[str, str]:
        rows = TokenRows.of(graph, "mask")
        taken = rows.take(graph.reshape("values", -1, 3 * WIDTH))
        first, second, third = rows.thirds(taken, WIDTH)
        return {
            "taken": taken,
            "spread": rows.spread(taken),
            "first": first,
            "second": second,
            "third": third,
            "at": rows.at(taken, "places"),
            "padded": rows.padded(taken, 3 * WIDTH),
        }

    part, whole = ("float32", ("batch", "length", WIDTH)), ("float32", ("rows", 3 * WIDTH))
    values = ("float32", ("batch", "length", 3 * WIDTH))
    inputs = {
        "mask": ("int32", ("batch", "length")),
        "places": ("int32", ("batch", "count")),
        "values": values,
    }
    outputs = {"taken": whole, "spread": whole, "first": part, "second": part, "third": part}
    outputs |= {"at": whole, "padded": values}
    graph = open_graph(build(emit, inputs, outputs))
    return lambda **given: dict(zip(outputs, graph(**given), strict=True))


@pytest.mark.parametrize("padding", MASKS)
def test_tokens_leave_and_find_their_places(run: Any, padding: str) -> None:
    mask = np.array(MASKS[padding], np.int32)
    values = np.random.default_rng(0).random((2, 3, 3 * WIDTH)).astype(np.float32)
    places = np.array([[2, 0], [1, 1]], np.int32)
    found = run(mask=mask, values=values, places=places)
    keep = mask.astype(bool)
    # The first place is always a row, so that there is one.
    kept = keep.copy()
    kept[0, 0] = True
    np.testing.assert_array_equal(found["taken"], values[kept])
    np.testing.assert_array_equal(found["spread"].reshape(values.shape)[keep], values[keep])
    thirds = np.concatenate([found[name] for name in ("first", "second", "third")], axis=2)
    np.testing.assert_array_equal(thirds[keep], values[keep])
    np.testing.assert_array_equal(found["padded"], values * kept[:, :, None])
    wanted = np.take_along_axis(values, places[:, :, None], axis=1)
    chosen = np.take_along_axis(keep, places, axis=1)
    at = found["at"].reshape(wanted.shape)
    np.testing.assert_array_equal(at[chosen], wanted[chosen])
