"""The opened graph of a decode step, with what all batches that run it need to know of it."""

from onnxruntime import InferenceSession as Session

from keras_transformer.artefact.entries import Graph
from keras_transformer.artefact.graph_names import MOST_STEPS
from keras_transformer.runtime.loop.requests import Best
from keras_transformer.runtime.onnx_graphs.cache import cache_inputs

# What a step chooses, in the order in which the graphs return it.
NEXT_IDS, CANDIDATES = "next_ids", tuple(f"candidate_{name}" for name in Best._fields)


class StepGraph:
    """The graph.

    Args:
        session: Its session.
        graph: Its manifest entry.

    Attributes:
        session: Its session.
        names: The names of inputs and outputs, but for optional inputs.
        caches: The inputs that are caches.
        chosen: The outputs that a step chooses.
        makes_several: Whether it can make several steps in a run.
    """

    def __init__(self, session: Session, graph: Graph) -> None:
        self.session = session
        self.names = frozenset(spec.name for spec in (*graph.inputs, *graph.outputs))
        self.caches = cache_inputs(graph.inputs)
        self.chosen = tuple(name for name in (NEXT_IDS, *CANDIDATES) if name in self.names)
        optional = {value.name for value in session.get_overridable_initializers()}
        self.makes_several = MOST_STEPS in optional
