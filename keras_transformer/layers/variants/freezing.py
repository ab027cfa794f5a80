"""Records which layers of a model or layer are frozen, and freezes them again."""

from collections.abc import Collection

import keras

from keras_transformer.layers.variants.quantization import parts_of


def frozen_parts(whole: keras.layers.Layer) -> list[str] | None:
    """Returns the paths, below a built layer or model, of the layers that are not trainable.

    None if all are trainable, or none are, as the whole is: its own `trainable` says so.
    """
    parts = dict(parts_of(whole))
    if all(layer.trainable == whole.trainable for layer in parts.values()):
        return None
    return [path for path, layer in parts.items() if not layer.trainable]


def freeze_parts(whole: keras.layers.Layer, frozen: Collection[str] | None) -> None:
    """Makes the layers inside a built layer or model trainable but for those that are named.

    Args:
        whole: The layer or model.
        frozen: `frozen_parts`'s result.

    Raises:
        ValueError: There is no layer of a path.
    """
    if frozen is None:
        return
    parts = dict(parts_of(whole))
    unknown = sorted(set(frozen).difference(parts))
    if unknown:
        raise ValueError(
            f"the layer {unknown[0]!r} is to be frozen, but {whole.name} has only "
            f"{', '.join(parts)}."
        )
    # A layer sets all inside it: the outer ones first, so that each has the last word on itself.
    for path in sorted(parts, key=lambda path: path.count("/")):
        parts[path].trainable = path not in frozen
