"""The name that this package is installed under, and the commands that messages give for it.

`pip install keras-transformer` installs an unrelated package with the same import name.
"""

from importlib import import_module

DISTRIBUTION = "keras-seq2seq-transformer"


def install_command(extra: str) -> str:
    """Returns the command that adds the packages of an extra to what is installed.

    pip finds the installed package itself and fetches only what the extra adds.

    Example:
        >>> install_command("train")
        'pip install "keras-seq2seq-transformer[train]"'
    """
    return f'pip install "{DISTRIBUTION}[{extra}]"'


def imported_versions(*packages: str) -> dict[str, str]:
    """Imports packages and returns their versions, as the packages report them.

    What provides `tensorflow` may be installed under another name, such as tensorflow-cpu.

    Example:
        >>> sorted(imported_versions("numpy", "sentencepiece"))
        ['numpy', 'sentencepiece']
    """
    return {name: import_module(name.replace("-", "_")).__version__ for name in packages}
