"""Programs of decode steps: several steps are what one after the other is, and a program that would
read or write what is not its own is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

Run = Callable[..., list[np.ndarray]]
REFUSED = (ort_errors.InvalidArgument, ort_errors.RuntimeException, ort_errors.Fail)
WIDTH = 5


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


# The most steps, the last special id, ids and the step, which the operator itself reads.
GREEDY = [ints(3), ints(-1), ints(1, 2), ints(0)]
# The same, then totals, the table of beams and ends.
BEAMS = [*GREEDY, np.zeros((1, 2), np.float32), np.zeros((1, 2, 4), np.int32), ints(-1, 0, 0)]
PACKED, CACHE, COUNT = floats(2, 2 * WIDTH), floats(2, 1, 2, WIDTH), np.array([4])
# Programs that fit: an SSRU with its cache, and the best of what it gives. Values behind the inputs
# are the SSRU's output, its new cache and what is found.
GREEDY_STEPS: dict[str, Any] = {
    "program": "6 Ssru 3 4 5 3 2 LargestPlace 1 6 1",
    "next": 8,
    "results": "7",
    "carried": "5 7",
}
BEAM_STEPS: dict[str, Any] = {
    "program": "10 Ssru 4 7 8 3 5 2 BestContinuations 3 10 4 9 3",
    "next": 12,
    "values": 13,
    "beams": 14,
    "results": "11",
    "carried": "8 11",
}


def greedy(run: Run, *others: np.ndarray, **attributes: Any) -> list[np.ndarray]:
    attributes = {**GREEDY_STEPS, **attributes}
    outputs = 1 + max(1, len(attributes["results"].split()))
    return run("GreedySteps", [*GREEDY, *(others or (PACKED, CACHE))], outputs, **attributes)


def beams(run: Run, *others: np.ndarray, **attributes: Any) -> list[np.ndarray]:
    others = others or (PACKED, CACHE, COUNT)
    return run("BeamSteps", [*BEAMS, *others], 4, **{**BEAM_STEPS, **attributes})


def test_steps_of_greedy_search_are_those_made_one_by_one(run: Run) -> None:
    said, kept = greedy(run)
    cache, expected = CACHE, []
    for step in range(3):
        found, cache = run("Ssru", [PACKED, cache, ints(step)], outputs=2)
        expected += found.argmax(axis=1).tolist()
    np.testing.assert_array_equal(said, expected)
    np.testing.assert_array_equal(kept, cache)


def test_steps_of_beam_search_find_as_many_each(run: Run) -> None:
    ids, values, parents, kept = beams(run)
    assert ids.shape == values.shape == parents.shape == (3, 4)
    assert (np.diff(values[2]) <= 0).all()
    assert kept.shape == CACHE.shape


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"program": "1 TokenPositions 1 0 1", "pad_0": 0}, "the inputs of a program .* from 4"),
        ({"program": "3 TokenPositions 1 2 1", "pad_0": 0}, "the inputs of a program .* from 4"),
        ({"next": 2}, "next must be a value .* that an operator makes"),
        ({"next": 9}, "next must be a value"),
        ({"next": 6}, "next must be a value of the element type 6 "),
        ({"results": ""}, "what is carried must be a result"),
        ({"carried": "3 8", "results": "7"}, "what is carried must be a result"),
        ({"carried": "5 6"}, "what is carried must be a result"),
        ({"carried": "2 7"}, "what is replaced must be an input of the element type 1 "),
        ({"results": "5"}, "a result of a program .* from 6"),
        ({"results": "7 7"}, "a result must be named once"),
    ],
)
def test_programs_of_greedy_search_that_do_not_fit_are_refused(
    run: Run, attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(REFUSED, match=message):
        greedy(run, **attributes)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        # The table would be what an operator makes: one that copies it may hold a constant.
        ({"program": "4 TokenPositions 1 2 2", "pad_0": 0}, "the inputs of a program .* from 7"),
        ({"next": 2}, "next must be a value .* that an operator makes"),
        ({"values": 4}, "values must be a value .* that an operator makes"),
        ({"beams": 5}, "beams must be a value .* that an operator makes"),
    ],
)
def test_programs_of_beam_search_that_do_not_fit_are_refused(
    run: Run, attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(REFUSED, match=message):
        beams(run, **attributes)


@pytest.mark.parametrize(
    ("program", "results", "message"),
    [
        # Another operator reads the old cache once the new one is there.
        ("6 Ssru 3 4 5 3 2 Ssru 3 4 5 3 2 LargestPlace 1 6 1", "7", "value 5 .* after value 7"),
        # The operator itself may not have read all of it.
        ("6 TanhGelu 1 5 1 TanhGelu 1 4 1 LargestPlace 1 7 1", "6", "value 5 .* after value 6"),
    ],
)
def test_what_is_read_after_it_is_replaced_is_refused(
    run: Run, program: str, results: str, message: str
) -> None:
    with pytest.raises(REFUSED, match=message):
        greedy(run, program=program, results=results, carried=f"5 {results}")


def test_what_is_carried_keeps_its_shape(run: Run) -> None:
    program = "6 TanhGelu 1 4 1 LargestPlace 1 6 1 QuantizeRows 1 5 2"
    with pytest.raises(REFUSED, match=r"carried must have the shape \(2, 3, \), got \(7, 1, \)"):
        greedy(run, floats(2, 3), floats(7, 4), program=program, next=7, results="9", carried="4 9",
               middle_2=128)  # fmt: skip


def test_a_result_keeps_its_shape(run: Run) -> None:
    # The second step packs the first one's mask, which has a token less.
    program = "6 PackTokens 1 4 3 TokenPositions 1 5 2"
    with pytest.raises(REFUSED, match=r"result .* must have the shape \(2, \), got \(1, \)"):
        greedy(run, ints(1, 1)[None], ints(1, 0)[None], program=program, next=10, results="7 9",
               carried="4 9", pad_0=0, pad_1=0)  # fmt: skip


def test_steps_that_find_other_numbers_of_continuations_are_refused(run: Run) -> None:
    # The second step has the shortlist of the other sentence.
    program = "15 ListedLogits 4 7 8 9 11 1 BestContinuations 3 15 4 12 3 TokenPositions 1 10 2 "
    program += "Ssru 4 13 14 3 5 2"
    lists = [np.arange(9, dtype=np.int32), np.zeros((1, 9), np.int32), np.zeros((1, 3), np.int32)]
    inputs = [floats(2, 4), *lists, floats(9, 4), np.array([99]), PACKED, CACHE]
    changed = {"program": program, "next": 16, "values": 17, "beams": 18, "pad_2": 7}
    with pytest.raises(REFUSED, match=r"carried must have the shape \(1, 9, \), got \(1, 3, \)"):
        run("BeamSteps", [*BEAMS, *inputs], 4, [11], results="19", carried="9 19", **changed)


def test_a_tensor_larger_than_memory_can_be_is_refused(run: Run) -> None:
    projected, mask = np.zeros((0, 2**22), np.float32), np.zeros((2**40, 0), np.int32)
    program = "6 SplitHeads 2 4 5 1 TokenPositions 1 5 2"
    with pytest.raises(REFUSED, match=rf"no tensor has the shape \({2**40}, {2**22}, 0, 1, \)"):
        greedy(run, projected, mask, program=program, next=8, results="", carried="",
               heads_0=2**22, parts_0=1, pad_1=0)  # fmt: skip


def test_beams_of_no_hypotheses_are_refused(run: Run) -> None:
    empty = [np.zeros((2**40, 0), np.float32), np.zeros((2**40, 0, 4), np.int32)]
    with pytest.raises(REFUSED, match="beams must be from 1"):
        run("BeamSteps", [*GREEDY, *empty, BEAMS[6], PACKED, CACHE, COUNT], 4, **BEAM_STEPS)


@st.composite
def hostile(draw: st.DrawFn) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A program that fits but for a few numbers."""
    steps, fitting = draw(st.sampled_from([(greedy, GREEDY_STEPS), (beams, BEAM_STEPS)]))
    attributes = dict(fitting)
    for _ in range(draw(st.integers(1, 3))):
        key = draw(st.sampled_from(sorted(attributes)))
        parts = str(attributes[key]).split()
        place = draw(st.sampled_from([i for i, part in enumerate(parts) if part.isdecimal()]))
        parts[place] = str(draw(st.integers(0, 16)))
        attributes[key] = type(attributes[key])(" ".join(parts))
    return steps, attributes


@given(program=hostile())
@settings(max_examples=100)  # With every set of instructions.
def test_a_hostile_program_gives_what_it_makes_or_an_error(run: Run, program: Any) -> None:
    steps, attributes = program
    try:
        steps(run, **attributes)
    except REFUSED:
        return
