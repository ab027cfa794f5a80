"""The names of an artefact's graphs and of their optional inputs."""

from collections.abc import Mapping
from typing import Any

from keras_transformer.config.family import ENCODER, family_of

# Optional inputs of step graphs that make several steps in a run: how many at most, the largest id
# that ends the run, and what is said of the ends of hypotheses, which do not.
MOST_STEPS, LAST_SPECIAL, ENDS = "most_steps", "last_special", "ends"
# Inputs of graphs with adapters: the adapter of each text, from 0 on, and of each column of the
# factors, whose names `adapter_factors` tells.
ADAPTER_IDS, ADAPTER_OWNERS = "adapter_ids", "adapter_owners"
_DOWN, _UP = "adapter_down/", "adapter_up/"
# The graph that an encoder-decoder has in addition if its artefact has a shortlist.
SHORTLIST = "shortlist"
# The graph of a tagger with `crf`, from the logits of words to their tags.
CHAIN = "chain"


def graph_names(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the graphs of a config's artefact."""
    family, head = family_of(config), config.get("head")
    if family is ENCODER and head == "pretraining":
        return (*family.graphs, "head", "next_sentence")
    if family is ENCODER and config.get("crf"):
        return (*family.graphs, "head", CHAIN)
    if family is ENCODER and (head is not None or config.get("pooler")):
        return (*family.graphs, "head")
    return family.graphs


def adapter_factors(path: str) -> tuple[str, str]:
    """Returns the inputs that take the factors of the adapters of a linear layer."""
    return _DOWN + path, _UP + path


def adapted_path(name: str) -> str | None:
    """Returns the path of the linear layer whose first factors an input takes; None if it takes
    something else.
    """
    return name.removeprefix(_DOWN) if name.startswith(_DOWN) else None


def graph_file(name: str) -> str:
    """Returns the name of a graph's file, such as "encoder.onnx"."""
    return f"{name}.onnx"
