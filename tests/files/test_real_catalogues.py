"""Catalogues of programs that this machine has: emptied, translated, and checked by msgfmt."""

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from keras_transformer.files.formats import read_document
from keras_transformer.files.job import Outcome
from keras_transformer.files.segments import Translation
from keras_transformer.markup.profiles import Profile

CATALOGUES = Path("/usr/share/locale/de/LC_MESSAGES")
PROGRAMS = ["apt", "bash", "coreutils", "dpkg", "git", "glib20", "gnupg2"]


def run(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True).stderr


def errors(path: Path) -> set[str]:
    """Returns what msgfmt finds wrong in a catalogue whose arguments are all C's."""
    entries = path.read_text("utf-8").split("\n\n")
    flagged = [
        f"#, c-format\n{one}" if re.search(r'^msgid(?:_plural)? .*%|^".*%', one, re.M) else one
        for one in entries[1:]
    ]
    path.write_text("\n\n".join([entries[0], *flagged]), "utf-8")
    return set(re.findall(r"^.*: (.*)$", run("msgfmt", "--check", "-o", "/dev/null", path), re.M))


def same(texts: Sequence[str], profile: Profile) -> list[Translation]:
    return [Translation(text) for text in texts]


@pytest.mark.parametrize("program", PROGRAMS)
def test_msgfmt_finds_nothing_that_the_team_did_not_write(
    program: str, translated: Callable[..., Outcome], tmp_path: Path
) -> None:
    if shutil.which("msgfmt") is None or not (CATALOGUES / f"{program}.mo").is_file():
        pytest.skip(f"no msgfmt, or no German catalogue of {program}, on this machine")
    known, emptied = tmp_path / "known.po", tmp_path / "emptied.po"
    run("msgunfmt", "-o", known, CATALOGUES / f"{program}.mo")
    document = read_document(known)
    assert document.written({}) == known.read_bytes()
    nothing = {
        place: [Translation("", is_known=True)] * len(one.texts)
        for place, one in enumerate(document.segments)
    }
    emptied.write_bytes(document.written(nothing))
    outcome = translated("new.po", emptied.read_bytes(), same, review="low")
    (tmp_path / "new.po").write_bytes(outcome.data)
    assert outcome.translated > 100
    assert errors(tmp_path / "new.po") <= errors(known)
