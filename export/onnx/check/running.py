"""Runs one graph of an artefact and compares its outputs with expected arrays."""

import numpy as np

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.export.onnx.heads.vocabulary import LOWEST_BIAS
from keras_transformer.runtime.onnx_graphs.sessions import open_session

# Outputs of a decoder graph, beside the caches.
_COMPARED = (
    "logits",
    "candidate_values",
    "next_ids",
    "next_log_probabilities",
    "log_probabilities",
)

Arrays = dict[str, np.ndarray]


class CheckedGraph:
    """One graph of the artefact, run by names; arrays that it does not take are ignored."""

    def __init__(self, manifest: Manifest, files: ArtefactFiles, name: str) -> None:
        self._session = open_session(manifest, files, name, threads=1)
        graph = manifest.graphs[name]
        self.inputs = {spec.name: np.dtype(spec.dtype) for spec in graph.inputs}
        # One adapter for all, of rank 1, that adds nothing.
        self._adapters = {
            spec.name: np.zeros([size if isinstance(size, int) else 1 for size in spec.shape])
            for spec in graph.inputs
            if spec.name.startswith("adapter_")
        }
        self._outputs = [spec.name for spec in graph.outputs]

    def typed(self, arrays: Arrays) -> Arrays:
        """Returns the arrays that are inputs, converted to the inputs' types."""
        return {
            name: np.ascontiguousarray(value, self.inputs[name])
            for name, value in arrays.items()
            if name in self.inputs
        }

    def run(self, inputs: Arrays) -> Arrays:
        """Runs the graph."""
        found = self._session.run(self._outputs, self.typed({**self._adapters, **inputs}))
        return dict(zip(self._outputs, found, strict=True))

    def run_in_place(self, inputs: Arrays, buffers: Arrays) -> Arrays:
        """Runs one step that writes the new caches over the old ones."""
        binding = self._session.io_binding()
        given = {**self.typed({**self._adapters, **inputs}), **buffers}
        for name, value in given.items():
            binding.bind_input(name, "cpu", 0, value.dtype.type, value.shape, value.ctypes.data)
        for name, value in buffers.items():
            binding.bind_output(
                f"new_{name}", "cpu", 0, value.dtype.type, value.shape, value.ctypes.data
            )
        names = [name for name in _COMPARED if name in self._outputs]
        for name in names:
            binding.bind_output(name, "cpu")
        self._session.run_with_iobinding(binding)
        # Outputs that are bound without memory come last.
        return dict(zip(names, binding.copy_outputs_to_cpu()[len(buffers) :], strict=True))


def checked_graphs(manifest: Manifest, files: ArtefactFiles, name: str) -> list[CheckedGraph]:
    """Opens the graphs of one name: one for each target, unless targets share it."""
    alone = [manifest.of_target(target) for target in manifest.targets]
    graphs = {one.graphs[name].file: one for one in alone}
    return [CheckedGraph(one, files, name) for one in graphs.values()]


# Beside the tolerance, differences may be this share of it for each unit of the value: the logit of
# a token that is never written is about -10,000, where float32's own steps are 0.001. In int8 the 1
# that its bias is multiplied by is rounded by up to half a 127th of the largest of all states.
_RELATIVE = 0.05


class Comparison:
    """Compares outputs with expected values and remembers the largest difference."""

    def __init__(self, tolerance: float) -> None:
        self.largest = 0.0
        self._tolerance = tolerance

    def __call__(self, found: Arrays, expected: Arrays) -> None:
        """Compares each of the `expected` values with the output of its name.

        Raises:
            ValueError: A shape differs, or a number by more than the tolerance.
        """
        for name, wanted in expected.items():
            if found[name].shape != wanted.shape:
                raise ValueError(
                    f"output {name} has the shape {found[name].shape} in ONNX and {wanted.shape} "
                    "in Keras: nothing was exported."
                )
            # What a bias of -inf forbids is as impossible with the one that the graph has instead.
            lowest = np.float32(LOWEST_BIAS)
            ours, wanted = (np.maximum(one, lowest) for one in (found[name], wanted))
            differences = np.abs(ours - wanted) / (1 + _RELATIVE * np.abs(wanted))
            difference = float(np.max(differences, initial=0.0))
            # Written so that NaN is refused too.
            if not difference <= self._tolerance:
                raise ValueError(
                    f"output {name} differs from Keras by up to {difference:.2e}, more than "
                    f"{self._tolerance:.0e}: nothing was exported."
                )
            self.largest = max(self.largest, difference)
