"""The graphs of an artefact for each target, with their files and their entries in the manifest."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx

from keras_transformer.artefact.entries import Graph
from keras_transformer.artefact.graph_names import CHAIN, graph_file
from keras_transformer.artefact.manifest import sha256_of
from keras_transformer.config.families import ModelConfig
from keras_transformer.export.inputs import AnyModel
from keras_transformer.export.onnx.form import Form
from keras_transformer.export.onnx.graphs.native import NOT_OURS
from keras_transformer.export.onnx.graphs.onnxruntime import OnnxRuntime
from keras_transformer.export.onnx.graphs.specs import Specs, graph_specs
from keras_transformer.export.onnx.graphs.target import Target
from keras_transformer.export.onnx.heads.chain import chain_graph
from keras_transformer.export.onnx.layers.adapters import AdaptedFloat32, with_adapters
from keras_transformer.export.onnx.quantize.int4 import Int4Matrices
from keras_transformer.export.onnx.quantize.precision import in_precision_spec, target_in


@dataclass(frozen=True)
class GraphSet:
    """Graphs for one target.

    Attributes:
        target: The target, which emits the graphs.
        specs: The inputs and outputs of each graph, by its name.
        prefix: Prefix of their file names.
    """

    target: Target
    specs: Mapping[str, Specs]
    prefix: str = ""

    def emit(self, model: AnyModel, form: Form) -> Iterator[tuple[str, onnx.ModelProto]]:
        """Yields file names and graphs, one at a time, since each graph holds all its weights."""
        for name in self.specs:
            yield self._file(name), self._graph(name, model, form.opset)

    def describe(self, directory: Path, form: Form) -> dict[str, Graph]:
        """Returns the manifest's entries of graphs that were written to a directory."""
        return {
            name: Graph(
                file=self._file(name),
                sha256=sha256_of(directory / self._file(name)),
                inputs=tuple(in_precision_spec(spec, form.precision) for spec in inputs),
                outputs=tuple(in_precision_spec(spec, form.precision) for spec in outputs),
            )
            for name, (inputs, outputs) in self.specs.items()
        }

    def _graph(self, name: str, model: AnyModel, opset: int) -> onnx.ModelProto:
        if name == CHAIN:
            # The same for every target and in every precision.
            return chain_graph(model.head.chain, opset)
        return self.target.graph(name, model, opset)

    def _file(self, name: str) -> str:
        return f"{self.prefix}{graph_file(name)}"


def adapted_sets(model: AnyModel) -> tuple[GraphSet, ...]:
    """Returns the graphs of a decoder that take adapters, in float32 for onnxruntime."""
    specs = with_adapters(graph_specs(model.config), model)
    return (GraphSet(OnnxRuntime(AdaptedFloat32()), specs),)


def graph_sets(
    config: ModelConfig, form: Form, *, has_shortlist: bool, int4: Int4Matrices | None = None
) -> tuple[GraphSet, ...]:
    """Returns the graphs for the form's target and, if it has any, the "native" ones that differ.

    Args:
        config: The model's.
        form: The artefact's.
        has_shortlist: Whether graphs choose among the ids of a shortlist.
        int4: The matrices of the precision "int4".
    """

    def of(name: str) -> GraphSet:
        flags = {"has_shortlist": has_shortlist, "shares_weights": form.has_native, "int4": int4}
        target = target_in(form.precision, name, **flags)
        return GraphSet(target, graph_specs(config, target.listing if has_shortlist else None))

    if not form.has_native:
        return (of(form.target),)
    native = of("native")
    own = {name: specs for name, specs in native.specs.items() if name not in NOT_OURS}
    return of(form.target), GraphSet(native.target, own, prefix="native_")
