"""Text vectors as in Sentence Transformers (Reimers and Gurevych 2019): pooling, linear layers
after it, and prompts before texts.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, get_args

from keras_transformer.config.checks import check_choice, check_flag, check_size

# In the order in which Sentence Transformers joins them.
Pooling = Literal["first", "max", "mean", "mean_sqrt_length", "weighted_mean", "last"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
# Between the names of poolings whose vectors are joined.
JOINT = "+"
# What shorter vectors than this are divided by where they get unit length.
SHORTEST = 1e-12


@dataclasses.dataclass(frozen=True, kw_only=True)
class DenseConfig:
    """A linear layer behind the pooling, f(Wx + b).

    Args:
        out_dim: Width of its output.
        activation: f, by Keras's name; "linear" for none.
        use_bias: Whether there is a b.

    Raises:
        ValueError: A value is out of range; the message names it.
        TypeError: `out_dim` is not an integer.
    """

    out_dim: int
    activation: str = "tanh"
    use_bias: bool = True

    def __post_init__(self) -> None:
        check_size("dense.out_dim", self.out_dim)
        check_flag("dense.use_bias", self.use_bias)
        if not isinstance(self.activation, str) or not self.activation:
            raise TypeError(
                f"dense.activation must be the name of a Keras activation, got {self.activation!r}."
            )


def poolings_of(pooling: Any) -> tuple[Pooling, ...]:
    """Returns the poolings whose vectors are joined, such as "first+mean" names them, in order.

    Raises:
        ValueError: A name is unknown, or given twice.
    """
    names: list[Any] = pooling.split(JOINT) if isinstance(pooling, str) else [pooling]
    for name in names:
        check_choice("pooling", name, POOLINGS)
    if len(set(names)) < len(names):
        raise ValueError(f"pooling must name each of its poolings once, got {pooling!r}.")
    return tuple(names)


def check_prompts(prompts: Any, default_prompt: Any) -> None:
    """Checks prompts, by name, and the name of the one that is taken if none is asked for.

    Raises:
        TypeError: `prompts` is no mapping of strings.
        ValueError: There is no prompt of this name, or one has no name.
    """
    if not isinstance(prompts, Mapping) or not all(
        isinstance(one, str) for pair in prompts.items() for one in pair
    ):
        raise TypeError(f"prompts must be a mapping of names to texts, got {prompts!r}.")
    if "" in prompts:
        raise ValueError("prompts must have names, got one of the name ''.")
    if default_prompt is not None:
        prompt_named(prompts, default_prompt, "default_prompt")


def prompt_named(prompts: Mapping[str, str], name: str, argument: str = "prompt_name") -> str:
    """Returns the prompt of a name; "" is the name of none.

    Raises:
        ValueError: There is no prompt of this name; the message has the names that there are.
    """
    if name == "":
        return ""
    if name in prompts:
        return prompts[name]
    known = ", ".join(map(repr, prompts)) or "none: the model has no prompts"
    raise ValueError(f"{argument} must be one of {known}, got {name!r}.")
