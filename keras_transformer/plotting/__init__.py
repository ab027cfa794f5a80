"""Draws pictures of runs, models and corpora: one file for each kind, with `style.py` for all."""

from importlib.util import find_spec

from keras_transformer.distribution import install_command

if find_spec("matplotlib") is None:
    raise ImportError(f"pictures need matplotlib: install it with `{install_command('plot')}`.")
