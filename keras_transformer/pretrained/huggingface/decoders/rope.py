"""Rotary positions in configs of Hugging Face, as today's and older versions of its library write
them: `rope_parameters`, or `rope_theta` and `rope_scaling`.
"""

import math
from typing import Any

from keras_transformer.config.positions.rotary import RotaryConfig
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.values import FileValues

# Their names of what a kind reads beside `factor` → ours.
_OWN: dict[str, dict[str, str]] = {
    "linear": {},
    "dynamic": {},
    "llama3": {
        "low_freq_factor": "low_frequency_factor",
        "high_freq_factor": "high_frequency_factor",
    },
    "yarn": {"beta_fast": "fast_turns", "beta_slow": "slow_turns", "truncate": "whole_pairs"},
    "longrope": {"short_factor": "short_factors", "long_factor": "long_factors"},
}
_OLD_NAMES = {"su": "longrope"}
ORIGINAL_LENGTH = "original_max_position_embeddings"


def read_rope(fields: Fields, head_dim: int, rope: FileValues | None = None) -> dict[str, Any]:
    """Returns the options of blocks that say rotary positions.

    Args:
        fields: The model's config.
        head_dim: The width of a head.
        rope: Those of one kind of layer; None for the config's.

    Raises:
        ImportRefusedError: They are of a kind that is not known.
    """
    given = FileValues(fields.path, {})
    for name in ("rope_scaling", "rope_parameters"):
        given = fields.mapping(name, given)
    rope = given if rope is None else rope
    share = rope.number("partial_rotary_factor", fields.number("partial_rotary_factor", 1.0))
    options: dict[str, Any] = {
        "rotary_base": float(rope.number("rope_theta", fields.number("rope_theta", 10_000.0)))
    }
    if int(head_dim * share) != head_dim:
        options["rotary_width"] = int(head_dim * share)
    kind = rope.text("rope_type", rope.text("type", "default"))
    kind = _OLD_NAMES.get(kind, kind)
    if kind == "default" and "factor" not in rope.values:
        return options
    if kind not in _OWN:
        raise ImportRefusedError(
            f"{rope.origin} has rotary positions of the type {kind!r}, and only default, "
            f"{', '.join(_OWN)} are supported."
        )
    return {**options, "rotary_scaling": {"kind": kind, **_scaling(kind, fields, rope)}}


def _scaling(kind: str, fields: Fields, rope: FileValues) -> dict[str, Any]:
    found = {
        ours: _read(rope, theirs)
        for theirs, ours in _OWN[kind].items()
        if rope.get(theirs, None) is not None
    }
    if kind == "linear":
        return {"factor": rope.number("factor")}
    most = fields.integer("max_position_embeddings", 2048, least=2)
    # A dynamic one counts from the longest text, whatever else is written.
    original = most
    if kind != "dynamic":
        original = rope.integer(ORIGINAL_LENGTH, most, least=2)
        original = fields.integer(ORIGINAL_LENGTH, original, least=2)
    length = rope.integer("length", original)
    found |= {"original_length": original} | ({} if length == original else {"length": length})
    if kind in ("dynamic", "llama3"):
        return {**found, "factor": rope.number("factor")}
    factor = rope.number("factor", most / original)
    if kind == "yarn":
        magnitude = _mscale(factor, 1.0)
        scales = [rope.number(name, 0.0) for name in ("mscale", "mscale_all_dim")]
        if all(scales):
            magnitude = _mscale(factor, scales[0]) / _mscale(factor, scales[1])
        found["factor"] = factor
    else:
        magnitude = math.sqrt(1 + math.log(max(factor, 1.0)) / math.log(original))
    return {**found, "magnitude": rope.number("attention_factor", magnitude)}


def _read(rope: FileValues, name: str) -> Any:
    """Returns a number, the numbers of a list, or a flag."""
    if name == "truncate":
        return rope.flag(name)
    if name in ("short_factor", "long_factor"):
        listed = rope.items(name)
        return [listed.number(one) for one in listed.values]
    return rope.number(name)


def _mscale(factor: float, scale: float) -> float:
    """Returns what Peng et al. (2023, equation 22) multiply queries and keys by."""
    return 1.0 if factor <= 1 else 0.1 * scale * math.log(factor) + 1.0


def rope_fields(rotary: RotaryConfig, head_dim: int) -> dict[str, Any]:
    """Returns the fields of a config that say rotary positions, for versions old and new."""
    values = rope_parameters(rotary, head_dim)
    found = {"rope_parameters": values, "rope_theta": rotary.base}
    if "partial_rotary_factor" in values:
        found["partial_rotary_factor"] = values["partial_rotary_factor"]
    scaling = rotary.scaling
    if scaling is None:
        return found
    original, factor = scaling.original_length or 2048, scaling.factor or 1.0
    most = original if scaling.kind in ("dynamic", "longrope") else int(original * factor)
    return {**found, "rope_scaling": values, "max_position_embeddings": most}


def rope_parameters(rotary: RotaryConfig, head_dim: int) -> dict[str, Any]:
    """Returns the values of `rope_parameters`."""
    found: dict[str, Any] = {"rope_type": "default", "rope_theta": rotary.base}
    if rotary.width is not None:
        found["partial_rotary_factor"] = rotary.width / head_dim
    scaling = rotary.scaling
    if scaling is None:
        return found
    found |= {"rope_type": scaling.kind, "factor": scaling.factor or 1.0}
    for theirs, ours in _OWN[scaling.kind].items():
        value = getattr(scaling, ours)
        found[theirs] = list(value) if isinstance(value, tuple) else value
    if scaling.kind in ("yarn", "longrope"):
        found["attention_factor"] = scaling.magnitude
    if scaling.kind not in ("linear", "dynamic"):
        found[ORIGINAL_LENGTH] = scaling.original_length
    return found | ({} if scaling.length is None else {"length": scaling.length})
