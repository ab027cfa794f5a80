"""Models as a server opens them, and what their signatures answer."""

from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.serving.families.opening import open_model
from keras_transformer.serving.settings import ServeOptions


def open_served(path: Path, search: dict[str, Any] | None = None, **options: Any) -> Any:
    """Returns an artefact's model, with a search and the options of a server."""
    return open_model(path, ServeOptions(artefact=path, **options), search or {})


def answer(model: Any, name: str, **columns: Any) -> dict[str, Any]:
    """Returns what a signature answers to columns: texts, or arrays of what else it takes."""
    signature = model.signatures[name]
    request = model.read(signature, arrays(**columns))
    return model.write(signature, request, model.run(signature)(request.rows))


def arrays(**columns: Any) -> dict[str, np.ndarray]:
    """Returns columns as requests have them."""
    encode = np.vectorize(str.encode, otypes=[object])
    return {
        name: column if isinstance(column, np.ndarray) else encode(column)
        for name, column in columns.items()
    }
