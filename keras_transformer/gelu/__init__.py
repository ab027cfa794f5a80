"""Says what is wrong where another package lies over this one.

The distribution `keras-transformer` has the same import name. Installed over this package, it
replaces `__init__.py`; the first import there is of its file `gelu.py`, and Python prefers a
directory to a file.
"""

from keras_transformer.distribution import DISTRIBUTION

raise ImportError(
    "another package, the distribution keras-transformer, was installed over this one and replaced "
    f"its files: run `pip uninstall keras-transformer {DISTRIBUTION}`, then install "
    f"{DISTRIBUTION} again from its checkout or wheel."
)
