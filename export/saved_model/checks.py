"""Checks a written SavedModel: the operators and variables of its graph, and that its answers in a
session, as TensorFlow Serving loads it, equal those of the functions it was written from.
"""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import rewriter_config_pb2, saved_model_pb2

from keras_transformer.export.saved_model.requests import SignatureInputs
from keras_transformer.export.saved_model.unoptimized import unoptimized

Answers = Mapping[str, Mapping[str, np.ndarray]]

_TOLERANCE = 1e-4
# Operators that call Python functions: no server can run them.
_PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")


def check_operators(directory: Path, variables: int) -> list[str]:
    """Checks the operators and variables of the graph.

    Args:
        directory: The SavedModel.
        variables: How many variables there should be.

    Returns:
        The sorted operators that are not part of TensorFlow itself: a server must know them.

    Raises:
        ValueError: The graph has an operator that servers lack, or another number of variables.
    """
    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((directory / "saved_model.pb").read_bytes())
    [graph] = [meta.graph_def for meta in saved.meta_graphs]
    operators = {node.op for node in _nodes(graph)}
    wrong = {name for name in operators if name.startswith("Xla") or name in _PYTHON}
    if wrong:
        raise ValueError(f"the graph must not hold the operators {', '.join(sorted(wrong))}.")
    found = sum(node.op == "VarHandleOp" for node in _nodes(graph))
    if found != variables:
        raise ValueError(f"the graph holds {found} variables, but the model {variables}.")
    return sorted(name for name in operators if not hasattr(tf.raw_ops, name))


def live_answers(functions: dict[str, Any], requests: Mapping[str, SignatureInputs]) -> Answers:
    """Calls the live functions, without optimizing them first.

    Args:
        functions: The signatures by name. The dictionary is emptied, so that no function stays
            ready to run, which takes tens of megabytes, while the next one is called.
        requests: Inputs of each signature.

    Returns:
        The outputs of each signature.
    """
    found = {}
    with unoptimized():
        while functions:
            name, function = functions.popitem()
            request = {key: tf.constant(value) for key, value in requests[name].items()}
            answer = function(**request)
            found[name] = {key: value.numpy() for key, value in answer.items()}
            del function, answer
            gc.collect()  # A graph refers to itself.
    return found


def check_answers(
    directory: Path, wanted: Answers, requests: Mapping[str, SignatureInputs]
) -> float:
    """Compares the answers of a SavedModel in a session with the live ones.

    Args:
        directory: The SavedModel.
        wanted: The outputs of each live signature.
        requests: Inputs of each signature.

    Returns:
        The largest absolute difference of a number.

    Raises:
        ValueError: A text or id differs, or a number by more than 1e-4; the message names it.
    """
    found = _ask_session(directory, requests)
    return max(
        _difference(f"{name}.{key}", found[name][key], value)
        for name, answer in wanted.items()
        for key, value in answer.items()
    )


def _ask_session(directory: Path, requests: Mapping[str, SignatureInputs]) -> Answers:
    """Fetches all outputs at once, so that parts shared by signatures are optimized once.

    The graph is optimized in one round. Servers make two, of which the second takes a third of the
    time.
    """
    config = tf.compat.v1.ConfigProto()
    rounds = rewriter_config_pb2.RewriterConfig.ONE
    config.graph_options.rewrite_options.meta_optimizer_iterations = rounds
    with tf.Graph().as_default(), tf.compat.v1.Session(config=config) as session:
        with _without_deprecations():
            loaded = tf.compat.v1.saved_model.load(session, ["serve"], str(directory))
        signatures = {name: loaded.signature_def[name] for name in requests}
        fed = {
            signatures[name].inputs[key].name: value
            for name, request in requests.items()
            for key, value in request.items()
        }
        outputs = {
            name: {key: one.name for key, one in signature.outputs.items()}
            for name, signature in signatures.items()
        }
        return session.run(outputs, fed)


@contextmanager
def _without_deprecations() -> Iterator[None]:
    """Silences TensorFlow's advice against sessions, in which servers still load models."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("ERROR")
    try:
        yield
    finally:
        logger.setLevel(level)


def _nodes(graph: Any) -> Iterator[Any]:
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def _difference(name: str, found: np.ndarray, wanted: np.ndarray) -> float:
    if wanted.dtype == np.float32 and found.shape == wanted.shape:
        # A perplexity has no limit: its logarithm has that of the other numbers.
        numbers = map(np.log, (found, wanted)) if name.endswith(".perplexity") else (found, wanted)
        difference = float(np.max(np.abs(np.subtract(*numbers)), initial=0.0))
        # Written so that NaN is refused too.
        if difference <= _TOLERANCE:
            return difference
    elif np.array_equal(found, wanted):
        return 0.0
    raise ValueError(
        f"{name} is {found.tolist()} in a session and {wanted.tolist()} in the live model: nothing "
        "was exported."
    )
