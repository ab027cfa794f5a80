"""The graphs, tokenizers and vocabularies that an artefact holds, by the family of its model."""

from collections.abc import Mapping
from typing import Any

ENCODER_DECODER = "encoder-decoder"
ENCODER = "encoder"
DECODER = "decoder"
FAMILIES = (ENCODER_DECODER, ENCODER, DECODER)

STEP_GRAPHS = ("decoder", "greedy", "greedy_scores")
# Optional inputs of step graphs that make several steps in a run: how many at most, the largest id
# that ends the run, and what is said of the ends of hypotheses, which do not.
MOST_STEPS, LAST_SPECIAL, ENDS = "most_steps", "last_special", "ends"
# The graph that an encoder-decoder has in addition if its artefact has a shortlist.
SHORTLIST = "shortlist"
_GRAPHS = {
    ENCODER_DECODER: ("encoder", *STEP_GRAPHS, "scorer", "prefill"),
    ENCODER: ("encoder",),
    DECODER: (*STEP_GRAPHS, "scorer", "prefill"),
}


def family_of(config: Mapping[str, Any]) -> str:
    """Returns the family of a config; one that names none is an encoder-decoder's.

    Raises:
        ValueError: The family is unknown.
    """
    family = config.get("family", ENCODER_DECODER)
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}, got {family!r}.")
    return str(family)


def graph_names(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the graphs of a config's artefact."""
    family = family_of(config)
    if family == ENCODER and config.get("head") == "pretraining":
        return (*_GRAPHS[family], "head", "next_sentence")
    if family == ENCODER and (config.get("head") is not None or config.get("pooler")):
        return (*_GRAPHS[family], "head")
    return _GRAPHS[family]


def later_graphs(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the graphs that artefacts of the same format may lack: they were written before."""
    return ("prefill",) if family_of(config) == ENCODER_DECODER else ()


def graph_file(name: str) -> str:
    """Returns the name of a graph's file, such as "encoder.onnx"."""
    return f"{name}.onnx"


def tokenizer_names(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the keys of the artefact's tokenizers."""
    return ("source", "target") if family_of(config) == ENCODER_DECODER else ("text",)


def vocabulary_fields(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the fields of the config that hold the tokenizers' sizes, in the same order."""
    if family_of(config) == ENCODER_DECODER:
        return ("source_vocab_size", "target_vocab_size")
    return ("vocab_size",)
