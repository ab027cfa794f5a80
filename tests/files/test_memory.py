"""Translation memory: the same texts, their contexts and plural forms."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.files.memory import Memory, SimilarTexts
from keras_transformer.files.segments import Translation

HEADER = 'msgid ""\nmsgstr "Plural-Forms: nplurals=3; plural=n==1 ? 0 : n<5 ? 1 : 2;\\n"\n\n'
KNOWN = HEADER + (
    'msgid "open"\nmsgstr "öffnen"\n\n'
    'msgctxt "state"\nmsgid "open"\nmsgstr "offen"\n\n'
    '#, fuzzy\nmsgid "close"\nmsgstr "zu"\n\n'
    'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "x"\nmsgstr[1] "y"\nmsgstr[2] "z"\n'
)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    (tmp_path / "old.po").write_text(KNOWN, encoding="utf-8")
    return Memory([tmp_path / "old.po"])


@pytest.mark.parametrize(
    ("entry", "written", "count"),
    [
        ('msgid "open"\nmsgstr ""', '"öffnen"', 1),
        ('msgctxt "state"\nmsgid "open"\nmsgstr ""', '"offen"', 1),
        ('msgctxt "new"\nmsgid "open"\nmsgstr ""', '"öffnen"', 1),
        # Somebody must look at it first.
        ('msgid "close"\nmsgstr ""', '"CLOSE"', 0),
        (
            'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""',
            '"x"\nmsgstr[1] "y"\nmsgstr[2] "z"',
            1,
        ),
    ],
)
def test_what_is_known_is_used(entry, written, count, memory: Memory, translated) -> None:
    outcome = translated("new.po", HEADER + entry + "\n", memory=memory)
    assert outcome.data.decode().endswith(written + "\n")
    assert outcome.remembered == count
    assert (b"fuzzy" in outcome.data) == (count == 0)


def test_a_file_without_translations_is_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "texts.json"
    path.write_text('{"a": "b"}')
    with pytest.raises(ValueError, match="texts.json holds no translation that a memory could use"):
        Memory([path])


def test_forms_of_another_rule_need_review(memory: Memory, translated) -> None:
    header = HEADER.replace("nplurals=3; plural=", "nplurals=4; plural=n==0 ? 3 : ")
    entry = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\n'
    text = translated("new.po", header + entry, memory=memory).data.decode()
    assert text.endswith('msgstr[0] "x"\nmsgstr[1] "z"\nmsgstr[2] "z"\nmsgstr[3] "z"\n')
    assert "#, fuzzy\nmsgid" in text


def test_the_forms_of_a_catalogue_are_those_of_a_program(memory: Memory, translated) -> None:
    items = '<item quantity="one">{}</item><item quantity="other">{}</item>'
    source = f'<resources><plurals name="d">{items}</plurals></resources>'
    data = translated("strings.xml", source.format("a", "b"), memory=memory).data
    assert data.decode() == source.format("x", "z")


def test_each_form_of_qt_is_used_in_its_place(tmp_path: Path, translated) -> None:
    said = "<numerusform>%n Datei</numerusform><numerusform>%n Dateien</numerusform>"
    source = (
        '<TS language="de"><context><message numerus="yes"><source>%n file(s)</source>'
        "<translation>{}</translation></message></context></TS>"
    )
    (tmp_path / "old.ts").write_text(source.format(said))
    memory = Memory([tmp_path / "old.ts"])
    text = translated("new.ts", source.format(""), memory=memory).data.decode()
    assert text == source.format(said)


TEXTS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=6).map(" ".join)


def percent(one: str, other: str) -> int:
    """The share of words that need no edit, by the definition of the distance."""

    def edits(left: list[str], right: list[str]) -> int:
        if not left or not right:
            return len(left) + len(right)
        if left[0] == right[0]:
            return edits(left[1:], right[1:])
        rests = (left[1:], right), (left, right[1:]), (left[1:], right[1:])
        return 1 + min(edits(*rest) for rest in rests)

    sides = one.split(), other.split()
    longer = max(map(len, sides))
    return 100 * (longer - edits(*sides)) // longer


@given(TEXTS, st.lists(TEXTS, max_size=4, unique=True), st.sampled_from([1, 50, 75, 100]))
def test_the_most_similar_text_is_found(text: str, known: list[str], least: int) -> None:
    found = SimilarTexts({one: one.upper() for one in known}, least).find(text)
    best = max((percent(text, one) for one in known), default=0)
    assert (found.percent if found else 0) == (best if best >= least else 0)
    assert found is None or percent(text, found.text) == best


def test_a_percentage_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="fuzzy must be a percentage from 1 to 100, got 0"):
        SimilarTexts({}, 0)


@pytest.mark.parametrize(
    ("name", "source", "written"),
    [
        ("a.po", 'msgid "a"\nmsgstr ""\n', '# fuzzy match 80 %: <b> - -* /\n#, fuzzy\nmsgid "a"'),
        ("a.strings", '"k" = "a";\n', '/* fuzzy match 80 %: <b> - -* / */\n"k"'),
        ("a.properties", "k=a\n", "# fuzzy match 80 %: <b> - -* /\nk="),
        (
            "strings.xml",
            "<resources><string>a</string></resources>",
            "<!-- fuzzy match 80 %: <b> - -* / -->",
        ),
        (
            "a.ts",
            '<TS language="de"><context><message><source>a</source></message></context></TS>',
            "<translatorcomment>fuzzy match 80 %: &lt;b&gt; - -* /</translatorcomment>",
        ),
    ],
)
def test_a_comment_says_how_similar_a_text_is(name, source, written, translated) -> None:
    def helped(texts, profile):
        return [Translation(text, hint="fuzzy match 80 %: <b>\n--*/") for text in texts]

    outcome = translated(name, source, helped)
    assert written in outcome.data.decode() and outcome.similar == 1
