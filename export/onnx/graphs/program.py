"""Several decode steps in one run of a graph: a single operator repeats all operators of a step."""

import copy
from collections.abc import Iterable

import numpy as np
import onnx
from onnx.numpy_helper import from_array

from keras_transformer.artefact.graph_names import ENDS, LAST_SPECIAL, MOST_STEPS
from keras_transformer.export.onnx.graphs.operators import NATIVE

_LEFT_OUT = -1
# What a run without these inputs does: one step, whatever it finds.
_DEFAULTS = {MOST_STEPS: [1], LAST_SPECIAL: [np.iinfo(np.int32).max], ENDS: [-1, 0, 0]}
# Of each operator the graph's inputs that change from step to step, in its order after the ids and
# the two above, and its first outputs, by the attribute that names their values.
_STEPS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "GreedySteps": (("step",), {"next": "next_ids"}),
    "BeamSteps": (
        ("step", "totals", "cache_beams", ENDS),
        {"next": "candidate_ids", "values": "candidate_values", "beams": "candidate_beams"},
    ),
}


def several_steps(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns a decode step's graph as a single operator, which makes one step or several.

    Its further inputs have defaults, with which it makes one step: `most_steps` int32 `(1,)`, how
    many steps to make at most; `last_special` int32 `(1,)`, the largest id that ends the run, as
    the caller must look at it; and of beam search `ends` int32 `(3,)`, the id of ends, which do not
    end the run, the first step that may choose one, and how many of a sentence's hypotheses may end
    before the run does.

    Args:
        model: Any graph. It is returned unchanged unless it is a decode step of greedy or beam
            search without scores that consists of this package's operators only.
    """
    graph = model.graph
    outputs = [value.name for value in graph.output]
    name = next((name for name, (_, ours) in _STEPS.items() if outputs[0] in ours.values()), None)
    if name is None or any(node.domain != NATIVE for node in graph.node):
        return model
    changing, first = _STEPS[name]
    inputs = [MOST_STEPS, LAST_SPECIAL, graph.input[0].name, *changing]
    read = {value for node in graph.node for value in node.input}
    others = [value.name for value in (*graph.input, *graph.initializer)]
    inputs += [value for value in others if value in read and value not in inputs]
    values = {value: number for number, value in enumerate(inputs)}
    program: list[str | int] = [len(inputs)]
    for node in graph.node:
        values.update({value: len(values) + place for place, value in enumerate(node.output)})
        places = [values.get(value, _LEFT_OUT) for value in node.input]
        program += [node.op_type, len(places), *places, len(node.output)]
    results = [value for value in outputs if value not in first.values()]
    caches = [value for value in results if value.startswith("new_")]
    joined = onnx.helper.make_node(
        name,
        inputs,
        [*first.values(), *results],
        name=name,
        domain=NATIVE,
        program=_text(program),
        results=_text(values[value] for value in results),
        carried=_text(values[one] for new in caches for one in (new.removeprefix("new_"), new)),
    )
    for attribute, value in first.items():
        joined.attribute.append(onnx.helper.make_attribute(attribute, values[value]))
    for number, node in enumerate(graph.node):
        for attribute in node.attribute:
            added = copy.deepcopy(attribute)
            added.name = f"{attribute.name}_{number}"
            joined.attribute.append(added)
    del graph.node[:]
    graph.node.append(joined)
    for value in (value for value in _DEFAULTS if value in inputs):
        default = from_array(np.array(_DEFAULTS[value], np.int32), value)
        declared = onnx.helper.make_tensor_value_info(value, default.data_type, default.dims)
        graph.input.append(declared)
        graph.initializer.append(default)
    return model


def _text(parts: Iterable[str | int]) -> str:
    return " ".join(map(str, parts))
