"""The comparison of decoders: cells, the check that stands before it, its arithmetic and table."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from generation.engine import SEARCHES, GenerationEngine
from generation.engines.ours import OurEngine
from generation.nats import nats
from generation.peers import PEERS
from generation.quality import measure_quality
from generation.report import generate_table, quality_table
from generation.sizes import SIZES
from generation.suite import Cell, check_greedy, measure_cell
from peers.peer import having
from speed.cells import SPLIT

from keras_transformer.runtime.generator import OnnxGenerator

MINI = SIZES["mini"]
CELL = Cell(size=MINI, precision="float32", threads=1, search="greedy", prompt=5, batch=3, length=4)


class Scripted:
    """A worker that answers from a table."""

    def __init__(self, name: str, **answers: Any) -> None:
        self.name, self.answers = name, answers

    def ask(self, do: str, **arguments: Any) -> Any:
        return self.answers[do]

    def settle(self) -> None:
        pass


def timed(seconds: float) -> Any:
    return Scripted("it", measure={"seconds": seconds, "cpu_seconds": 2 * seconds})


class Echo(GenerationEngine):
    """Repeats a prompt's last id."""

    def load(self, folder: str, precision: str) -> None:
        pass

    def prepare(self, prompts: list[list[int]]) -> Any:
        return [row[-1] for row in prompts]

    def run(self, prepared: Any, length: int, search: str) -> Any:
        return [(last, length) for last in prepared]

    def to_ids(self, result: Any) -> list[list[int]]:
        return [[last] * length for last, length in result]


def test_a_prompt_counts_the_decoders_start() -> None:
    prompts = CELL.request["prompts"]
    assert [len(row) for row in prompts] == [4, 4, 4]
    assert all(3 < token < MINI.vocab_size for row in prompts for token in row)
    assert prompts == CELL.request["prompts"]
    assert CELL.tokens == 12


@pytest.mark.parametrize("search", SEARCHES)
def test_a_cell_asks_for_its_search(search: str) -> None:
    assert dataclasses.replace(CELL, search=search).request["search"] == search


def test_more_tokens_than_positions_are_refused() -> None:
    with pytest.raises(ValueError, match="mini has 64 positions: a prompt of 60 and 5 new tokens"):
        dataclasses.replace(CELL, prompt=60, length=5)


def test_the_ratio_is_that_to_the_faster_peer_and_splitting_stands_beside_it() -> None:
    workers = {"ours": timed(2.0), "1": timed(6.0), "2": timed(5.0), SPLIT: timed(4.0)}
    row = measure_cell(CELL, workers, rounds=3)
    assert (row["ours"], row["peer_name"], row["ratio"]) == (6, "2", 2.5)
    assert row["ratio_split"] == 2
    assert row["cpu_seconds"]["2"] == 10
    alone = measure_cell(dataclasses.replace(CELL, batch=1), workers, rounds=3)
    assert "ratio_split" not in alone


def test_equal_ids_pass_and_others_are_an_error_but_of_a_peer_that_is_not_exact() -> None:
    ids = [[7] * 4] * 3
    ours, peer = (Scripted(name, generate=ids) for name in ("ours", "it"))
    assert check_greedy(CELL, {"ours": ours, "it × 1": peer}) == 1
    peer = Scripted("it", generate=[*ids[1:], [8] * 4])
    with pytest.raises(ValueError, match="prompt 5, batch 3, float32: 1 of 3 sentences differ"):
        check_greedy(CELL, {"ours": ours, "it × 1": peer})
    assert check_greedy(CELL, {"ours": ours, "llama.cpp × 1": peer}) == pytest.approx(2 / 3)


def test_an_engine_generates_and_counts_time() -> None:
    assert Echo().generate([[5, 6], [7]], 3, "greedy") == [[6] * 3, [7] * 3]
    found = Echo().measure([[5]], 3, "greedy", times=2)
    assert found["seconds"] > 0
    assert found["cpu_seconds"] >= 0


def test_processor_time_has_a_best_peer_of_its_own() -> None:
    busy = Scripted("it", measure={"seconds": 4.0, "cpu_seconds": 100.0})
    row = measure_cell(CELL, {"ours": timed(2.0), "busy": busy, "it": timed(6.0)}, rounds=1)
    assert (row["peer_name"], row["ratio"], row["ratio_processor"]) == ("busy", 2, 3)


def test_only_peers_that_have_a_precision_take_part() -> None:
    workers = dict.fromkeys(["ours", "openvino × 1", "ctranslate2 × 1", SPLIT], timed(1.0))
    assert [*having(workers, PEERS, Path(), "int8")] == [*workers]
    assert [*having(workers, PEERS, Path(), "int4")] == ["ours", "openvino × 1"]


def test_a_line_for_each_cell() -> None:
    workers = {"ours": timed(2.0), "ctranslate2 × 2": timed(6.0), SPLIT: timed(4.0)}
    row = {**measure_cell(CELL, workers, rounds=1), "float32_equal": 1.0}
    head, _, line = generate_table([row], ["openvino", "ctranslate2"]).splitlines()
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert len(cells) == head.count("|") - 1
    assert cells[:9] == ["mini", "float32", "1", "greedy", "5", "3", "6.0", "–", "2.0"]
    assert cells[9:] == ["ctranslate2 × 2", "**3.00**", "3.00–3.00", "3.00", "100.0%", "2.00"]


def test_perplexity_is_that_of_a_token() -> None:
    workers = {"ours": Scripted("ours", load=None, nats=math.log(8.0))}
    workers["openvino × 1"] = Scripted("it", load=None, nats=math.log(64.0))
    found = [*measure_quality([[5, 6], [7]], ["int4"], workers, Path())]
    assert found[0]["perplexity"] == pytest.approx({"ours": 2.0, "openvino": 4.0})
    line = quality_table(found, ["openvino", "ort-genai"]).splitlines()[-1]
    assert line == "| int4 | 2.000 | 4.000 | – |"


def test_nats_are_those_of_the_softmax() -> None:
    logits = np.log(np.array([[1.0, 3.0], [2.0, 2.0]], np.float32))
    assert nats(logits, [1, 0]) == pytest.approx(math.log(4 / 3) + math.log(2))


def test_our_nats_are_those_of_the_tokens_alone(adapted_decoder: Any, tmp_path: Path) -> None:
    artefact = tmp_path / "onnxruntime-float32"
    artefact.symlink_to(adapted_decoder.merged[None])
    engine = OurEngine("onnxruntime", 1)
    engine.load(str(tmp_path), "float32")
    rows = [[5, 6, 7], [8]]
    with OnnxGenerator(artefact, threads=1) as generator:
        found = [generator.engine.token_scores([], row, len(row), count=1) for row in rows]
        expected = -sum(value for tokens in found for _, value, _ in tokens)
    assert engine.nats(rows) == pytest.approx(expected, rel=1e-5)
