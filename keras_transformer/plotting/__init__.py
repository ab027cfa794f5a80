"""Pictures of runs, models and corpora: a file draws each kind, `style.py` sets how they look."""

from importlib.util import find_spec

from keras_transformer.distribution import install_command

if find_spec("matplotlib") is None:
    raise ImportError(f"pictures need matplotlib: install it with `{install_command('plot')}`.")
