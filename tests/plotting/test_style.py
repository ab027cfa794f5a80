"""Pictures as files: valid, whole, the same each time, and refused where the name is wrong."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib
import matplotlib.image
import pytest
from fresh_process import python
from matplotlib.figure import Figure

from keras_transformer.plotting.style import new_figure, save_picture, styled


@pytest.fixture
def figure() -> Figure:
    figure = new_figure(4, 2)
    figure.subplots().plot([1, 2, 3], label="a line")
    return figure


def test_a_png_holds_an_image_of_the_size_asked_for(figure: Figure, tmp_path: Path) -> None:
    save_picture(figure, tmp_path / "a.png")
    assert matplotlib.image.imread(tmp_path / "a.png").shape == (2 * 150, 4 * 150, 4)


def test_an_svg_is_well_formed(figure: Figure, tmp_path: Path) -> None:
    save_picture(figure, tmp_path / "a.SVG")
    assert ElementTree.parse(tmp_path / "a.SVG").getroot().tag.endswith("}svg")


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_equal_figures_give_equal_bytes(figure: Figure, tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"1{suffix}", tmp_path / f"2{suffix}"
    save_picture(figure, first)
    save_picture(figure, second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("name", ["a.jpg", "a", "png"])
def test_another_format_is_refused_with_those_that_are_written(
    figure: Figure, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ValueError, match=r"must end in \.png or \.svg, got .*rename it"):
        save_picture(figure, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_made_and_nothing_else_is_left(
    figure: Figure, tmp_path: Path
) -> None:
    save_picture(figure, tmp_path / "new" / "a.png")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.png"]


def test_a_picture_that_cannot_be_drawn_leaves_the_old_one(
    figure: Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.png").write_bytes(b"old")

    def fail(*arguments: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(MemoryError):
        save_picture(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == b"old"


def test_drawing_leaves_the_settings_of_the_caller_as_they_are() -> None:
    before = dict(matplotlib.rcParams)
    inside = styled(lambda: matplotlib.rcParams["axes.spines.top"])()
    assert inside is False
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from importlib import util\n"
        "util.find_spec = lambda name: None\n"
        "import keras_transformer.plotting"
    )
    done = python("-c", program, fails=True)
    assert done.returncode == 1
    assert 'pip install "keras-seq2seq-transformer[plot]"' in done.stderr
