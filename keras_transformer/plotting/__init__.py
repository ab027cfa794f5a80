"""Pictures of runs, models and corpora: a file draws one, `style.py` says how all of them look."""

from importlib.util import find_spec

if find_spec("matplotlib") is None:
    raise ImportError(
        'pictures need matplotlib: install it with `pip install "keras-transformer[plot]"`.'
    )
