"""SavedModels of decoders run without Python, through TensorFlow's C API."""

from collections.abc import Callable
from typing import Any


def test_a_c_program_continues_texts(
    serve_decoder: Callable[..., Any], serve: Callable[..., list[str]]
) -> None:
    served = serve_decoder("text")
    prompts = ["the red", "", "hello"]
    wanted = served.generator.generate(prompts, **served.search)
    assert serve(served.path, "serving_default", "prompt", "text", prompts) == wanted


def test_a_c_program_continues_ids(
    serve_decoder: Callable[..., Any], serve: Callable[..., list[str]]
) -> None:
    served = serve_decoder("ids")
    lines = serve(served.path, "generate_ids", "prompt_ids", "ids", ["5 6 7", "9 10 11"])
    rows = served.generator.generate_ids([[5, 6, 7], [9, 10, 11]], **served.search)
    for line, [best, *_] in zip(lines, rows, strict=True):
        assert [int(token) for token in line.split()][: len(best.ids)] == best.ids
