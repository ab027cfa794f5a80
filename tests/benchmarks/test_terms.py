"""The measurement of terms: which of those that the reference has are used, in which form."""

from tagged.terms import judge_terms, terms_of

from keras_transformer.markup.terms import Glossary, Term

LIST = Glossary((Term("file", "Datei"), Term("files", "Dateien"), Term("open", "öffnen")))


def test_terms_that_the_reference_has_are_counted_by_form() -> None:
    terms = [terms_of(text, LIST) for text in ("Open file %(file)s", "all files", "file it")]
    assert terms == [["Öffnen", "Datei"], ["Dateien"], ["Datei"]]
    references = ["Dateien öffnen", "alle Dateien", "ablegen"]
    judged = judge_terms(terms, references, ["Datei öffnet", "alle", "Datei"], seconds=1.0)
    assert (judged.wanted, judged.exact, judged.used) == (3, 1, 2)
