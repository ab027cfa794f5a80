"""The name that this package is installed under, and the commands that messages give for it.

`pip install keras-transformer` installs an unrelated package with the same import name.
"""

DISTRIBUTION = "keras-seq2seq-transformer"


def install_command(extra: str) -> str:
    """Returns the command that adds the packages of an extra to what is installed.

    pip finds the installed package itself and fetches only what the extra adds.

    Example:
        >>> install_command("train")
        'pip install "keras-seq2seq-transformer[train]"'
    """
    return f'pip install "{DISTRIBUTION}[{extra}]"'
