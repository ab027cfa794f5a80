"""TensorFlow's protobuf messages without TensorFlow: they are generated code that needs only
protobuf, but lie in a package that takes seconds and hundreds of megabytes to load.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType


@contextmanager
def bare_tensorflow() -> Iterator[None]:
    """Makes `tensorflow` a package of mere files inside the context, unless it is loaded already.

    Only its `*_pb2` may be imported inside; they remain valid when TensorFlow is loaded later.
    """
    spec = None if "tensorflow" in sys.modules else find_spec("tensorflow")
    if spec is None:
        yield
        return
    bare = ModuleType("tensorflow")
    bare.__path__ = list(spec.submodule_search_locations or ())
    sys.modules["tensorflow"] = bare
    try:
        yield
    finally:
        del sys.modules["tensorflow"]
