"""Adapters of several texts share a batch, and each writes what the model with it merged writes."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import OnnxGenerator
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.search.options import SearchOptions

NAMES = [None, "first", "second", "first", "second", None, "second"]
PROMPTS = [[9, 10], [11, 12, 13, 14], [15], [], [9, 10], [16, 17, 18], [11, 12, 13, 14]]
SEARCHES = [
    {},
    {"beam_size": 3, "num_hypotheses": 2},
    {"sample": True, "seed": 3, "num_hypotheses": 2},
]


@pytest.fixture(scope="module")
def generator(adapted_decoder: Any) -> Iterator[OnnxGenerator]:
    with OnnxGenerator(adapted_decoder.path, adapters=adapted_decoder.files) as opened:
        yield opened


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_a_batch_of_several_writes_what_each_merged_model_writes(
    adapted_decoder: Any, generator: OnnxGenerator, search: dict[str, Any]
) -> None:
    options = SearchOptions(max_length=14, **search)
    found = generator.engine.search(PROMPTS, options, adapters=NAMES)
    texts = set()
    for name, path in adapted_decoder.merged.items():
        with OnnxGenerator(path) as merged:
            wanted = merged.engine.search(PROMPTS, options)
        for ours, theirs, own in zip(found, wanted, NAMES, strict=True):
            if own == name:
                assert [one.ids for one in ours] == [one.ids for one in theirs]
                np.testing.assert_allclose(ours[0].score, theirs[0].score, atol=1e-4)
        texts.add(str(wanted[1][0].ids))
    # Else the adapters would change nothing.
    assert len(texts) == 3


def test_a_stream_and_scores_have_the_adapter(
    adapted_decoder: Any, generator: OnnxGenerator
) -> None:
    options, prompt = SearchOptions(max_length=9), PROMPTS[1]
    with OnnxGenerator(adapted_decoder.merged["first"]) as merged:
        wanted = list(merged.engine.stream(prompt, options))
        values = [value for _, value, _ in merged.engine.token_scores(prompt, wanted, 9, 1)]
    assert list(generator.engine.stream(prompt, options, adapters=["first"])) == wanted
    found = generator.engine.token_scores(prompt, wanted, 9, 1, (), ["first"])
    np.testing.assert_allclose([value for _, value, _ in found], values, atol=1e-4)


def test_what_an_adapter_has_read_is_known_to_it_alone(adapted_decoder: Any) -> None:
    prompt = "the red dog runs to the small house and we see the river "
    names = [None, "first", "second"] * 2
    options = {"prefix_cache_tokens": 256, "adapters": adapted_decoder.files}
    with OnnxGenerator(adapted_decoder.path, **options) as generator:
        for place, name in enumerate(names):
            one = generator if name is None else generator.adapted(name)
            asked = [prompt + "a dog", prompt + "we"][: 1 + place % 2]
            with OnnxGenerator(adapted_decoder.merged[name]) as merged:
                assert one.generate(asked, max_length=9) == merged.generate(asked, max_length=9)
        assert generator.engine.prefixes.tokens >= 3 * 16


def test_without_adapters_the_model_writes_by_itself(adapted_decoder: Any) -> None:
    with (
        OnnxGenerator(adapted_decoder.path, prefix_cache_tokens=64) as one,
        OnnxGenerator(adapted_decoder.merged[None]) as other,
    ):
        prompts = ["the red dog runs", "the red dog sees", "the red dog"]
        assert one.generate(prompts, max_length=9) == other.generate(prompts, max_length=9)


def test_an_unknown_name_is_refused(generator: OnnxGenerator) -> None:
    with pytest.raises(ValueError, match="no adapter 'third': the model has first, second"):
        generator.engine.search([[9]], SearchOptions(), adapters=["third"])


def test_graphs_without_adapters_refuse_files(adapted_decoder: Any) -> None:
    with pytest.raises(ValueError, match=r"export the model with adapters=True"):
        OnnxGenerator(adapted_decoder.merged[None], adapters=adapted_decoder.files)


def test_files_that_do_not_fit_are_refused(adapted_decoder: Any, tmp_path: Path) -> None:
    def refused(message: str, **values: Any) -> None:
        np.savez(tmp_path / "other.npz", **values)
        with pytest.raises(ValueError, match=message):
            OnnxGenerator(adapted_decoder.path, adapters={"one": tmp_path / "other.npz"})

    settings = np.array('{"rank": 2, "alpha": 2}')
    refused("is no LoRA file", weights=np.ones(3))
    refused("it has 0 factors", settings=np.array('{"rank": 1000000000000, "alpha": 2}'))
    refused("of rank 0", settings=np.array('{"rank": 0, "alpha": 2}'))
    refused("it has head/kernel", settings=settings, **{"head/kernel": np.ones(3)})
    with np.load(adapted_decoder.files["first"]) as file:
        name = next(name for name in file.files if name.endswith("lora_kernel_a"))
        words = np.full(file[name].shape, "a")
    refused("has the shape", settings=settings, **{name: np.ones((3, 2))})
    refused("has the shape", settings=settings, **{name: words})
    with pytest.raises(FileNotFoundError, match="or what save_lora_weights wrote"):
        OnnxGenerator(adapted_decoder.path, adapters={"one": tmp_path / "missing.npz"})


def test_a_file_of_another_model_of_the_same_shapes_is_refused(
    adapted_decoder: Any, tmp_path: Path
) -> None:
    with np.load(adapted_decoder.files["first"]) as file:
        values = dict(file)
    settings = json.loads(str(values["settings"]))
    assert settings["base"] == Manifest.read(adapted_decoder.path).adapter_base
    # Earlier versions wrote none.
    for base, outcome in (
        ("0" * 64, pytest.raises(ValueError, match="was trained beside other weights")),
        (None, nullcontext()),
    ):
        values["settings"] = np.array(json.dumps({**settings, "base": base}))
        np.savez(tmp_path / "other.npz", **values)
        with outcome, OnnxGenerator(adapted_decoder.path, adapters={"a": tmp_path / "other.npz"}):
            pass


def test_whole_texts_are_scored_without_adapters(generator: OnnxGenerator) -> None:
    with pytest.raises(ValueError, match="whole texts are scored without adapters, got 'first'"):
        generator.adapted("first").score(["a"])
    with pytest.raises(ValueError, match="no adapter 'third'"):
        generator.adapted("third")
