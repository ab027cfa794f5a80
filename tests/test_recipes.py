"""docs/fine_tuning.md and docs/with_keras.md: every command and snippet runs as it stands, in the
order of its page, as does the Python of docs/families.md; only the preset is smaller.
"""

import dataclasses
import importlib.util
import json
import linecache
import random
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh_process import python

from keras_transformer.cli import main
from keras_transformer.cli.commands.train import build_parser
from keras_transformer.config import PRESETS
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training import defaults, recipes
from keras_transformer.training.recipes import RECIPES, Recipe

DOCS = Path(__file__).resolve().parents[1] / "docs"
LAYERS = {"num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
TINY = {"model_dim": 8, "feed_forward_dim": 8, **LAYERS}
TINY_STACK = {"model_dim": 8, "feed_forward_dim": 8, "num_heads": 2, "num_layers": 1}
SINGLE_STACKS = {"bert-tiny": EncoderConfig, "gpt2-tiny": DecoderConfig}
ON_JAX = 'os.environ["KERAS_BACKEND"] = "jax"'
# Vectors that others trained are on no machine of the tests.
INSTALLS = "pip install"
WITHOUT_TENSORFLOW = f"""
import sys
from keras_transformer.config import PRESETS
sys.modules["tensorflow"] = None  # an import fails as if it were not installed
PRESETS["tiny"] = {TINY}
"""


@pytest.fixture(autouse=True)
def _small_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "tiny", TINY)
    monkeypatch.setitem(RECIPES, "tiny", Recipe(max_steps=4))
    for preset, family in SINGLE_STACKS.items():
        monkeypatch.setitem(family.presets, preset, TINY_STACK)
        monkeypatch.setitem(RECIPES, preset, Recipe(max_steps=4))
    short = Recipe(max_steps=4, label_smoothing=0.0)
    monkeypatch.setitem(recipes._CLASSIFIERS, "bert-tiny", short)
    monkeypatch.setattr(defaults, "fine_tuning", _short)


def _short(*given: Any, **named: Any) -> Recipe:
    return dataclasses.replace(recipes.fine_tuning(*given, **named), max_steps=4)


def blocks(page: str) -> list[tuple[str, str]]:
    """Returns the language and the text of a page's commands and snippets, but for doctests."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"```(bash|python)\n(.*?)```", text, flags=re.DOTALL)
    return [(language, block) for language, block in found if not block.startswith(">>>")]


def run_page(page: str) -> dict[str, Any]:
    """Runs a page, but for what needs a process of its own; returns the names it leaves."""
    names: dict[str, Any] = {"__name__": page}
    for place, (language, block) in enumerate(blocks(page)):
        if language == "bash" and INSTALLS not in block:
            run_commands(block)
        elif language == "python" and ON_JAX not in block:
            run_snippet(block, f"{page}, block {place}", names)
    return names


def run_commands(block: str) -> None:
    for line in block.replace("\\\n", " ").splitlines():
        program, *words = shlex.split(line)
        assert program == "keras-transformer"
        assert main(words) == 0, line


def run_snippet(block: str, name: str, names: dict[str, Any]) -> None:
    # TensorFlow reads the lines of what it traces, as if they stood in a file.
    linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
    exec(compile(block, name, "exec"), names)


def write_text(name: str, lines: int) -> None:
    """Writes made-up words, of which there are enough for the default vocabulary."""
    generator = random.Random(name)
    words = ("".join(generator.choices("abcdefghijklmnop", k=5)) for _ in range(4 * lines))
    text = "".join(f"{' '.join(line)}.\n" for line in zip(*[words] * 4, strict=True))
    for language in ("en", "es", "txt"):
        Path(f"{name}.{language}").write_text(text, encoding="utf-8")
    labelled = "".join(f"{line < 'i'}\t{line}\n" for line in text.splitlines())
    Path(f"{name}.tsv").write_text(labelled, encoding="utf-8")
    pairs = "".join(f"{line}\t{line[::-1]}\n" for line in text.splitlines())
    Path(f"{name}_pairs.tsv").write_text(pairs, encoding="utf-8")


@pytest.mark.exhaustive
def test_all_of_fine_tuning_runs(tmp_path: Path, tokenizer_jsons: dict[str, bytes]) -> None:
    Path("tokenizer.json").write_bytes(tokenizer_jsons["wordpiece"])
    sizes = {"general": 5_000, "general_valid": 30, "own": 150, "own_valid": 30}
    sizes |= {"a": 5_000, "b": 30, "train": 150, "valid": 30}
    for name, lines in sizes.items():
        write_text(name, lines)
    Path("train_pairs.tsv").rename("pairs.tsv")
    Path("words.txt").write_text("Kubernetes\nxylophone\n", encoding="utf-8")
    recipes_text = [{"text": f"Soup {place}\n\tStir  it.\n"} for place in range(150)]
    Path("recipes.jsonl").write_text("\n".join(map(json.dumps, recipes_text)), encoding="utf-8")
    names = run_page("fine_tuning.md")
    finished = {path.parent.name for path in tmp_path.glob("runs/*/model.keras")}
    translations = {"general", "own", "own_prepared", "own_python", "wide", "wider", "own_words"}
    assert finished == translations | {"bert", "gpt", "labels", "vectors", "own_bert", "recipes"}
    kept = Tokenizer.load("runs/recipes/tokenizer.model")
    assert kept.decode(kept.encode(["Soup 3\n\tStir  it."])) == ["Soup 3\n\tStir  it."]
    general, own = names["kt"].load_run("runs/general")[0], names["model"]
    before, after = general.get_layer("encoder"), own.get_layer("encoder")
    for value, frozen in zip(before.get_weights(), after.get_weights(), strict=True):
        np.testing.assert_array_equal(value, frozen)


@pytest.mark.exhaustive
def test_the_python_of_families_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snippet, _ = [block for language, block in blocks("families.md") if language == "python"]
    run_snippet(snippet, "families.md", {})
    assert {path.parent.name for path in tmp_path.glob("runs/*/model.keras")} == {
        "bert_python",
        "kinds",
    }
    assert capsys.readouterr().out.splitlines()[-1] in ("question", "statement")


def test_the_memory_of_families_equals_one_pass(capsys: pytest.CaptureFixture[str]) -> None:
    _, snippet = [block for language, block in blocks("families.md") if language == "python"]
    run_snippet(snippet, "families.md", {})
    assert capsys.readouterr().out.splitlines()[-1] == "True"


def test_the_file_of_options_is_read(tmp_path: Path) -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", (DOCS / "recipe.md").read_text("utf-8"), re.DOTALL)
    file = tmp_path / "run.yaml"
    file.write_text(text, encoding="utf-8")
    given = build_parser().parse(["--config", str(file), "--epochs", "30"])
    assert (given.preset, given.learning_rate, given.epochs) == ("tiny", 0.003, 30)
    assert (given.train_source, given["model"].dropout) == ([Path("train.en")], 0.2)


@pytest.mark.exhaustive
def test_all_of_with_keras_runs() -> None:
    names = run_page("with_keras.md")
    model, same = names["model"], names["same"]
    for saved, loaded in zip(model.get_weights(), same.get_weights(), strict=True):
        np.testing.assert_array_equal(saved, loaded)
    assert int(same.optimizer.iterations) == int(model.optimizer.iterations) > 0
    assert_own_batches_are_the_pipelines(names)
    model.encoder.trainable = False
    kernel_and_bias = names["classifier"].get_layer("is_question").weights
    assert names["classifier"].trainable_variables == kernel_and_bias


def assert_own_batches_are_the_pipelines(names: dict[str, Any]) -> None:
    """What the page writes out in tf.data makes the ids, labels and weights that ours makes."""
    kt, tokenizer = names["kt"], names["tokenizer"]
    pair = kt.Pairs(["Hello, how are you?"], ["Hola, ¿cómo estás?"], "test")
    [expected] = kt.evaluation_batches(kt.encode_pairs(pair, tokenizer, tokenizer), 100)
    inputs, labels, weights = names["to_batch"](list(pair.source), list(pair.target))
    for name, ids in expected[0].items():
        np.testing.assert_array_equal(inputs[name], ids)
    np.testing.assert_array_equal(labels, expected[1])
    np.testing.assert_array_equal(weights, expected[2])


@pytest.mark.exhaustive
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs the package jax")
def test_what_is_fitted_on_jax_without_tensorflow_is_loaded_with_it() -> None:
    import keras

    [snippet] = [block for _, block in blocks("with_keras.md") if ON_JAX in block]
    python("-c", WITHOUT_TENSORFLOW + snippet, JAX_PLATFORMS="cpu")
    model = keras.saving.load_model("from_jax.keras")
    assert keras.backend.backend() == "tensorflow"
    assert int(model.optimizer.iterations) > 0
