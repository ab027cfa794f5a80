"""The weights that a new model gets from a trained one: all that have the same layer path and
shape, and do not belong to other labels. Learned positions fit in any number.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_transformer.messages import is_debugging
from keras_transformer.models.families import AnyModel
from keras_transformer.models.files.model_file import load_model_file
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.transfer.parts import differing_choices

# How the path of a matrix of learned positions ends.
POSITIONS = "positions/matrix"
_BLOCK = re.compile(r"block_\d+")


@dataclass(frozen=True)
class Transfer:
    """The transferred weights, by layer paths such as `encoder/block_0/attention/query/kernel`.

    Attributes:
        taken: Weights of the new model that were set.
        fresh: Weights of the new model that keep their initial values, each with the reason.
        unused: Weights of the trained model that the new one has no place for.
    """

    taken: tuple[str, ...]
    fresh: dict[str, str]
    unused: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Returns plain JSON values."""
        return {"taken": list(self.taken), "fresh": self.fresh, "unused": list(self.unused)}

    def joined(self, other: "Transfer") -> "Transfer":
        """Returns what was taken from two models, one after the other, into the same one."""
        fresh = {path: why for path, why in other.fresh.items() if path in self.fresh}
        taken = tuple(dict.fromkeys(self.taken + other.taken))
        return Transfer(taken, fresh, self.unused + other.unused)

    def __str__(self) -> str:
        """Returns how many weights were taken, and which parts were not; each with `--debug`."""
        lines = [f"{len(self.taken)} weights taken, {len(self.fresh)} new"]
        if is_debugging():
            lines += [f"  new: {path} ({why})" for path, why in self.fresh.items()]
            lines += [f"  not used: {path}" for path in self.unused]
            return "\n".join(lines)
        new = Counter((_part(path), _kind(why)) for path, why in self.fresh.items())
        lines += [f"  new: {part}, {_weights(count)} ({why})" for (part, why), count in new.items()]
        unused = Counter(map(_part, self.unused))
        lines += [f"  not used: {part}, {_weights(count)}" for part, count in unused.items()]
        return "\n".join(lines + ["  (--debug names each)"] * (len(lines) > 1))


def _part(path: str) -> str:
    """Returns the part of a model that a weight belongs to, of all its blocks.

    Example:
        >>> _part("decoder/block_3/cross_attention/query/kernel"), _part("head/linear/bias")
        ('decoder/cross_attention', 'head')
    """
    layer, *rest = path.split("/")
    return f"{layer}/{rest[1]}" if len(rest) > 1 and _BLOCK.fullmatch(rest[0]) else layer


def _kind(why: str) -> str:
    return "of another shape" if why.startswith("shape ") else why


def _weights(count: int) -> str:
    return f"{count} weight{'s' * (count > 1)}"


def take_from_run(
    model: AnyModel,
    run: RunDirectory,
    path_in_model: Callable[[str], str | None] = str,
    why_new: Callable[[str], str | None] = lambda path: None,
) -> Transfer:
    """Sets the weights of a model to those of a finished run that fit; prints what else differs.

    Args:
        model: The new model.
        run: The run to take from.
        path_in_model: Takes a path of the trained model and returns the path in the new one, or
            None for weights that it should not take.
        why_new: Takes a path of the new model and returns why its weight should keep its initial
            value though a trained one fits, or None to take that.

    Raises:
        ValueError: No weight fits.
    """
    trained = load_model_file(run.model)
    found = take_weights(model, trained, path_in_model, why_new)
    choices = differing_choices(trained.config, model.config)
    if not found.taken:
        raise ValueError(
            f"no weight of {run.path} fits the new model: {'; '.join(choices)}. Leave the preset "
            "out (--preset), and for a run of another family give its sizes (--model.*)."
        )
    for choice in choices:
        print(f"{run.path} differs: {choice}")
    return found


def take_weights(
    model: keras.Model,
    trained: keras.Model,
    path_in_model: Callable[[str], str | None] = str,
    why_new: Callable[[str], str | None] = lambda path: None,
) -> Transfer:
    """Sets the weights of a model that fit to those of a trained one.

    Args:
        model: The model to set.
        trained: The model to take from.
        path_in_model: Takes a path of the trained model and returns the path in the new model,
            or None for weights that it should not take; the same path by default.
        why_new: Takes a path of the new model and returns why its weight should keep its initial
            value though a trained one fits, or None to take that.

    Raises:
        ValueError: No weight fits.
    """
    places = {weight.path: weight for weight in model.weights}
    offsets = tuple(getattr(one.config, "position_offset", 0) for one in (trained, model))
    found = {path_in_model(weight.path): weight for weight in trained.weights}
    taken, fresh = [], {}
    for path, weight in places.items():
        if path not in found:
            fresh[path] = "not in the trained model"
        elif path.endswith(POSITIONS) and found[path].shape[1:] == weight.shape[1:]:
            weight.assign(positions_for(weight, found[path], *offsets))
            taken.append(path)
        elif tuple(found[path].shape) != tuple(weight.shape):
            fresh[path] = f"shape {tuple(weight.shape)}, trained {tuple(found[path].shape)}"
        elif (reason := why_new(path)) is not None:
            fresh[path] = reason
        else:
            weight.assign(found[path])
            taken.append(path)
    unused = [
        weight.path for weight in trained.weights if path_in_model(weight.path) not in set(taken)
    ]
    return Transfer(tuple(taken), fresh, tuple(unused))


def set_weights(model: AnyModel, trained: AnyModel) -> None:
    """Sets all weights of a model to those of one of the same config but for its positions."""
    offset = model.config.position_offset
    for weight, other in zip(model.weights, trained.weights, strict=True):
        if weight.shape == other.shape:
            weight.assign(other)
        else:
            weight.assign(positions_for(weight, other, offset, offset))


def positions_for(
    new: Any, trained: Any, trained_offset: int = 0, offset: int = 0
) -> npt.NDArray[np.float32]:
    """Returns the vectors of learned positions for a model that has another number of them.

    Where there are more than were trained, these are repeated from the first on, as Longformer's
    are (Beltagy et al. 2020, section 5): attention to near positions then is what it was.

    Args:
        new: The new model's matrix, `(offset + positions, model_dim)`.
        trained: The trained model's.
        trained_offset: Rows of the trained matrix before the first position.
        offset: Rows of the new one before its first position.

    Example:
        >>> positions_for(np.zeros((5, 1)), np.array([[1.0], [2.0]])).ravel().tolist()
        [1.0, 2.0, 1.0, 2.0, 1.0]
    """
    rows, known = np.array(new, np.float32), np.asarray(trained, np.float32)[trained_offset:]
    places = np.arange(len(rows) - offset)
    rows[offset:] = known[places % len(known)]
    kept = min(offset, trained_offset)
    rows[offset - kept : offset] = np.asarray(trained)[trained_offset - kept : trained_offset]
    return rows
