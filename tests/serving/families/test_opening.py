"""Options that a served model's family does not take: refused of one artefact, else left out."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.artefact.manifest import Manifest
from keras_transformer.serving.families.opening import open_model, unused_options
from keras_transformer.serving.settings import ServeOptions

FILE = ServeOptions(model_config=Path("models.config"), language="de", min_score=-1.0)


@pytest.mark.parametrize(
    ("head", "search", "server", "unused"),
    [
        ("masked_lm", {"beam_size": 2}, {}, "'encoder' do not take beam_size=2: leave it out"),
        ("tagging", {"num_hypotheses": 3}, {}, "do not take num_hypotheses=3"),
        ("tagging", {}, {"min_score": -1.0, "language": "de"}, "take language=de, min_score=-1.0"),
        ("decoder", {"max_length_ratio": 2.0}, {}, "'decoder' do not take max_length_ratio"),
        ("decoder", {}, {"language": "de"}, "'decoder' do not take language=de"),
        ("decoder", {}, {"long_texts": "cut"}, "'decoder' do not take long_texts=cut"),
    ],
)
def test_an_option_without_a_meaning_is_refused(
    family_artefact: Callable[[Any], Path],
    head: str,
    search: dict[str, Any],
    server: dict[str, Any],
    unused: str,
) -> None:
    artefact = family_artefact(head)
    with pytest.raises(ValueError, match=unused):
        open_model(artefact, ServeOptions(artefact=artefact, **server), search)


def test_fillings_of_masks_need_no_beams(family_artefact: Callable[[Any], Path]) -> None:
    artefact = family_artefact("masked_lm")
    options = ServeOptions(artefact=artefact, long_texts="refuse")
    served: Any = open_model(artefact, options, {"num_hypotheses": 3})
    [texts] = [one for one in served.signatures["fill_mask"].outputs if one.name == "texts"]
    assert texts.shape[-1] == 3
    served.close()


@pytest.mark.parametrize("head", ["tagging", "decoder"])
def test_models_of_a_file_leave_out_what_they_do_not_use(
    family_artefact: Callable[[Any], Path], head: str
) -> None:
    artefact = family_artefact(head)
    given = {"max_length_ratio": 2.0, "max_length": 9}
    unused = unused_options(Manifest.read(artefact), FILE, given)
    assert ("max_length" in unused) == (head == "tagging")
    assert {"max_length_ratio": 2.0, "language": "de", "min_score": -1.0}.items() <= unused.items()
    open_model(artefact, FILE, given).close()


@pytest.mark.parametrize("head", ["masked_lm", "decoder", "encoder-decoder"])
def test_a_load_reads_each_file_of_an_artefact_once(
    family_artefact: Callable[[Any], Path],
    exported: Any,
    start: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    head: str,
) -> None:
    artefact = exported.path if head == "encoder-decoder" else family_artefact(head)
    read: Counter[Path] = Counter()
    plain_open = Path.open

    def counting_open(path: Path, *args: Any, **options: Any) -> Any:
        read[path] += 1
        return plain_open(path, *args, **options)

    monkeypatch.setattr(Path, "open", counting_open)
    start(artefact, {})
    files = [artefact / "manifest.json"]
    files += [artefact / entry.file for entry in Manifest.read(artefact).files]
    read[files[0]] -= 1  # This test's own.
    assert {path: read[path] for path in files} == dict.fromkeys(files, 1)
