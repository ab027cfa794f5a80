"""The measurement of messages: which keep their spans."""

import pytest
from tagged.messages import judge_messages


def test_spans_are_kept_if_each_is_there_as_often_as_in_the_source() -> None:
    sources = ["%s of %s", "Open %s", "Close {x}", "Quit it now ."]
    found = ["%s von %s", "%s %s jetzt öffnen", "{y} schließen", "Jetzt beenden bitte ."]
    judged = judge_messages(sources, found, found, seconds=1.0)
    assert (judged.with_spans, judged.kept) == (3, 1)
    assert judged.bleu == judged.bleu_plain == pytest.approx(100)
