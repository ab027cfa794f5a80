"""What holds for all tests: how they are shared among workers, what is collected as garbage, and
the state that each starts from. Their fixtures are in `shared/`.
"""

import contextlib
import functools
import gc
import logging
import os
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import keras_transformer  # noqa: F401  Silences onnxruntime, which must not be loaded before.

# `tests` itself is no package here: tf2onnx installs one of that name.
pytest_plugins = [
    *("artefacts", "browsers", "few_updates", "made_once", "paper", "quick_exports"),
    *("screening", "searches", "small_models", "without_workers"),
]


@pytest.hookimpl(optionalhook=True)  # Of pytest-xdist.
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keeps on one worker the tests of a file, for what they share; those of each export, too."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::", 1)[0]
            exports = [name for name in ("/export/onnx/", "/export/saved_model/") if name in file]
            return exports[0] if exports else file

    return ByFile(config, log)


# Tracing a graph makes so many objects that looking through them would take a tenth of the time.
gc.set_threshold(100_000, 20, 20)


def pytest_collection_finish() -> None:
    """Leaves what has been imported out of collections of garbage, of which Keras makes many."""
    _leave_out_what_lives()
    if "tensorflow" in sys.modules:
        _trace_quickly()
    _keep_products_in_float32()


def _trace_quickly() -> None:
    """Leaves out what takes 4 tenths of the time of tests that trace: optimizing graphs, which then
    run on few tokens, keeping where each of their nodes was written, for messages of errors,
    looking anew through what makes a tensor, before Python 3.12, at each check for one, looking
    for variables of operators that are given none, and making a layer for each part of a model that
    is saved or loaded, to skip its attributes: Keras keeps them, and looks for them elsewhere.

    Processes that tests start have all of them.
    """
    import tensorflow as tf
    from keras.src.saving import saving_lib
    from tensorflow.python.framework import auto_control_deps, ops

    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    # There is no setting for any of these.
    typing._get_protocol_attrs = functools.cache(typing._get_protocol_attrs)  # type: ignore
    ops._create_c_op = functools.partial(ops._create_c_op, extract_traceback=False)
    saving_lib.get_attr_skipset = functools.cache(saving_lib.get_attr_skipset)
    resources = auto_control_deps._get_resource_inputs
    auto_control_deps._get_resource_inputs = lambda op: (
        resources(op) if any(one.dtype == tf.resource for one in op.inputs) else ()
    )


def _keep_products_in_float32() -> None:
    """Keeps `train` from rounding factors in this process, which could not take it back."""
    from keras_transformer.cli.flags import products

    products._round_factors = lambda: False


@pytest.fixture(scope="module", autouse=True)
def _quick_collections() -> Iterator[None]:
    """Leaves out what the tests of a file leave in memory, such as traced functions, too."""
    yield
    _reset_keras()  # With the kernels that its tests have kept.
    _leave_out_what_lives()


def _leave_out_what_lives() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _start_processes_quickly() -> Iterator[None]:
    """Processes that tests start see the packages of the base installation, which load sooner; an
    empty PYTHONPATH shows them all.
    """
    light = Path(__file__).parent / "shared" / "base_installation"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(light), prepend=os.pathsep)
        yield


# What follows is for tests that need Keras, which is imported only where it is used.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# It counts how often the tests of a process trace, all together, and would warn of it.
logging.getLogger("tensorflow").setLevel(logging.ERROR)


def pytest_configure(config: pytest.Config) -> None:
    """Draws fewer examples than `make test-all`, which leaves out no mark."""
    examples = 8 if config.getoption("markexpr") else 40
    # A first call may trace a graph, so that time says nothing about an example.
    hypothesis.settings.register_profile("keras", deadline=None, max_examples=examples)
    hypothesis.settings.load_profile("keras")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draws of the examples that tests ask for themselves a third, if `make test-all` does not."""
    if not config.getoption("markexpr"):
        return
    usual = hypothesis.settings.default.max_examples
    for test in {getattr(item, "obj", None) for item in items}:
        own = getattr(test, "_hypothesis_internal_use_settings", None)
        if own is not None and own.max_examples > usual:
            few = hypothesis.settings(own, max_examples=max(usual, own.max_examples // 3))
            test._hypothesis_internal_use_settings = few


@pytest.fixture(autouse=True)
def _same_keras_state() -> Iterator[None]:
    """Every test starts from the same seeds and policy, whatever ran before it."""
    with _kept_kernels():
        _reset_keras()
    yield
    with _kept_kernels():
        _reset_keras()


def _reset_keras() -> None:
    keras = sys.modules.get("keras")
    if keras is not None:
        keras.utils.set_random_seed(0)
        keras.config.set_dtype_policy("float32")


@contextlib.contextmanager
def _kept_kernels() -> Iterator[None]:
    """Keeps the kernels that TensorFlow has made, which a new seed would drop: making them anew
    for each test takes half of the time of short ones. Kernels that draw numbers by a seed of
    their own are made anew for each file only; ours are given their seed with each call.
    """
    if "tensorflow" not in sys.modules:
        yield
        return
    from tensorflow.python import pywrap_tfe

    clear, pywrap_tfe.TFE_ContextClearCaches = pywrap_tfe.TFE_ContextClearCaches, lambda _: None
    try:
        yield
    finally:
        pywrap_tfe.TFE_ContextClearCaches = clear
