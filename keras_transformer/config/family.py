"""What the families of models differ in, one record a family.

Classes are named, not imported: reading a record loads nothing of a family that is not used.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

FamilyName = Literal["encoder-decoder", "encoder", "decoder"]
_Part = Literal["config", "model", "build", "engine", "pipeline", "opened", "served"]

# The graphs of one step of the decoder: with all logits, and of greedy search.
STEP_GRAPHS = ("decoder", "greedy", "greedy_scores")


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family of models. Classes and functions are paths within this package.

    Attributes:
        name: As files and messages have it.
        config: The class of its configs.
        model: The class of its models.
        build: Takes a config and a dtype policy and returns a model.
        engine: What `generate` of its models searches with; empty if they do not write.
        pipeline: What reads and writes texts with a live model.
        opened: What does so with an artefact.
        served: What serves one.
        tokenizers: The keys of an artefact's tokenizers.
        vocabulary_fields: The fields of the config that hold their sizes, in the same order.
        graphs: The graphs of an artefact, but for those of heads.
        later_graphs: Those that artefacts of the same format may lack, which were written before.
        commands: The commands for a model without a head.
    """

    name: FamilyName
    config: str
    model: str
    build: str
    engine: str = ""
    pipeline: str
    opened: str
    served: str
    tokenizers: tuple[str, ...] = ("text",)
    vocabulary_fields: tuple[str, ...] = ("vocab_size",)
    graphs: tuple[str, ...]
    later_graphs: tuple[str, ...] = ()
    commands: str

    def load(self, part: _Part) -> Any:
        """Returns a class or a function by the name of its attribute, importing its module."""
        module, _, name = getattr(self, part).rpartition(".")
        return getattr(import_module(f"keras_transformer.{module}"), name)

    def name_of(self, part: Literal["model", "pipeline", "opened"]) -> str:
        """Returns the name of a class without importing it."""
        return str(getattr(self, part).rpartition(".")[2])


ENCODER_DECODER = Family(
    name="encoder-decoder",
    config="config.transformer.TransformerConfig",
    model="models.transformer.Transformer",
    build="models.transformer.build_transformer",
    engine="decoding.translator.KerasEngine",
    pipeline="decoding.translator.Translator",
    opened="runtime.translator.OnnxTranslator",
    served="serving.models.model.ServedModel",
    tokenizers=("source", "target"),
    vocabulary_fields=("source_vocab_size", "target_vocab_size"),
    graphs=("encoder", *STEP_GRAPHS, "scorer", "prefill"),
    later_graphs=("prefill",),
    commands="translate or score",
)
ENCODER = Family(
    name="encoder",
    config="config.encoder_only.EncoderConfig",
    model="models.encoder_only.EncoderOnly",
    build="models.encoder_only.build_encoder",
    pipeline="decoding.encoder.TextEncoder",
    opened="runtime.encoder.OnnxEncoder",
    served="serving.families.encoder.ServedEncoder",
    graphs=("encoder",),
    commands="embed",
)
DECODER = Family(
    name="decoder",
    config="config.decoder_only.DecoderConfig",
    model="models.decoder_only.DecoderOnly",
    build="models.decoder_only.build_decoder",
    engine="decoding.generator.KerasGenerationEngine",
    pipeline="decoding.generator.Generator",
    opened="runtime.generator.OnnxGenerator",
    served="serving.families.generator.ServedGenerator",
    graphs=(*STEP_GRAPHS, "scorer", "prefill"),
    commands="generate or perplexity",
)
FAMILIES: dict[str, Family] = {one.name: one for one in (ENCODER_DECODER, ENCODER, DECODER)}


def family_of(values: Mapping[str, Any]) -> Family:
    """Returns the family of a config's plain values.

    An encoder-decoder's name none, as in version 0.1, which had no other.

    Raises:
        ValueError: The family is unknown.
    """
    name = values.get("family", ENCODER_DECODER.name)
    if not isinstance(name, str) or name not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)} or absent, got {name!r}.")
    return FAMILIES[name]
