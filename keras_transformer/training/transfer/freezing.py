"""Fine-tuning in part: some layers stay as they are, or lower ones learn more slowly or later
(Howard and Ruder 2018).
"""

import re
from collections.abc import Collection, Iterable
from typing import Any

from keras_transformer.models.families import AnyModel

_BLOCK = re.compile(r"block_(\d+)/")


def freeze_layers(model: AnyModel, freeze: str | None) -> None:
    """Keeps weights of a model from training.

    Args:
        model: Of any family.
        freeze: "embeddings"; "encoder" for an encoder with its embeddings; a number N for the
            embeddings and the first N blocks, of the encoder if there is one; None for nothing.

    Raises:
        ValueError: The model has no encoder, or fewer blocks.
    """
    if freeze is None:
        return
    stack = getattr(model, "encoder_stack", None)
    if freeze == "encoder" and stack is None:
        raise ValueError("freeze='encoder': a decoder alone has none; give a number of blocks.")
    names = ["embeddings", "source_embeddings"]
    if freeze == "embeddings":
        names.append("target_embeddings")
    frozen: list[Any] = [getattr(model, name) for name in names if hasattr(model, name)]
    if freeze == "encoder":
        frozen.append(stack)
    elif freeze != "embeddings":
        # A block that layers share is one.
        blocks = list(dict.fromkeys((stack or model.decoder_stack).blocks))  # type: ignore[union-attr]
        if int(freeze) > len(blocks):
            shared = "" if model.config.block_groups is None else ", which its layers share"
            raise ValueError(
                f"freeze={freeze!r}: the model has only {len(blocks)} "
                f"block{'s' * (len(blocks) > 1)}{shared}."
            )
        frozen += blocks[: int(freeze)]
    for layer in frozen:
        layer.trainable = False


def layer_rates(paths: Iterable[str], decay: float) -> dict[str, float]:
    """Returns the factor of the learning rate of each weight.

    Heads and norms above the blocks learn at the full rate, the highest block at `decay` times it,
    each block below at `decay` times that of the one above, embeddings slowest.

    Args:
        paths: Layer paths such as `encoder/block_0/attention/query/kernel`.
        decay: In (0, 1]; 1 for the full rate everywhere.
    """
    return {path: decay**depth for path, depth in _depths(paths).items()}


def first_updates(
    paths: Iterable[str], unfreeze_steps: int, fresh: Collection[str] = ()
) -> dict[str, int]:
    """Returns after how many updates each weight begins to learn, if they are unfrozen gradually.

    Heads, norms above the blocks, the highest block and what is new learn from the start, each
    block below `unfreeze_steps` updates after the one above, embeddings after the lowest block.

    Args:
        paths: Layer paths such as `encoder/block_0/attention/query/kernel`.
        unfreeze_steps: Updates between two blocks.
        fresh: Those of the paths that nothing trained before.
    """
    depths = _depths(paths).items()
    return {
        path: 0 if path in fresh else unfreeze_steps * max(depth - 1, 0) for path, depth in depths
    }


def _depths(paths: Iterable[str]) -> dict[str, int]:
    """Returns how far below the head each weight is: 0 for the head, 1 for the highest block."""
    paths = list(paths)
    heights: dict[str, int] = {}  # number of blocks of each stack
    for path in paths:
        block = _BLOCK.search(path)
        if block:
            stack = path.partition("/")[0]
            heights[stack] = max(heights.get(stack, 0), int(block[1]) + 1)
    tallest = max(heights.values(), default=0)

    def depth(path: str) -> int:
        block = _BLOCK.search(path)
        if block:
            return heights[path.partition("/")[0]] - int(block[1])
        return tallest + 1 if "embeddings" in path.partition("/")[0] else 0

    return {path: depth(path) for path in paths}
