"""Android's texts: escapes, inline elements, plurals, and what nobody translates."""

import time

import pytest

STRINGS = """<resources>
    <string name="a" translatable="false">app</string>
    <string name="b">@string/a</string>
    <string name="c">{}</string>
    <plurals name="d">
        <item quantity="one">one file</item>
        <item quantity="other">%d files</item>
    </plurals>
</resources>"""


@pytest.mark.parametrize(
    ("source", "written"),
    [
        (r"don\'t say \"no\"\n%1$s", r"DON\'T SAY \"NO\"\n%1$s"),
        ('"quoted  text"', r"QUOTED \u0020TEXT"),
        ('" and "', r"\u0020AND\u0020"),
        ('"a\nb" c', r"A\nB C"),
        ("a\n      b", "A B"),
        (r"\@home \u00e9", r"\@HOME \u00e9"),
        ("<b>all</b> <x:g>A1</x:g> &amp; more", "<b>ALL</b> <x:g>A1</x:g> &amp; MORE"),
        ("<![CDATA[<i>a</i>]]>", "&lt;i&gt;A&lt;/i&gt;"),
    ],
)
def test_texts_are_read_and_written_with_their_escapes(source, written, translated) -> None:
    text = translated("strings.xml", STRINGS.format(source)).data.decode()
    assert f'<string name="c">{written}</string>' in text
    assert ">app<" in text and ">@string/a<" in text


def test_entities_of_the_file_stay(translated) -> None:
    head = """<!DOCTYPE resources [<!-- don't ] --><?p ']?><!ENTITY app "x">]>\n"""
    text = translated("strings.xml", head + STRINGS.format("use &app;")).data.decode()
    assert text.startswith(head) and ">USE &app;<" in text


@pytest.mark.parametrize(
    ("language", "items"),
    [
        ("de", {"one": "ONE FILE", "other": "%d FILES"}),
        ("ja", {"other": "%d FILES"}),
        # "one" is for 21, too, and needs the number.
        ("ru", dict.fromkeys(["one", "few", "many", "other"], "%d FILES")),
    ],
)
def test_plurals_have_the_categories_of_the_language(language, items, translated) -> None:
    text = translated("strings.xml", STRINGS.format("x"), language=language).data.decode()
    said = [f'<item quantity="{name}">{one}</item>' for name, one in items.items()]
    assert '<plurals name="d">\n        ' + "\n        ".join(said) + "\n    </plurals>" in text


def test_spaces_in_a_tag_take_no_longer_than_their_length(translated) -> None:
    begun = time.process_time()
    tag = f'<string name="c"{" " * 50_000}>'
    assert (
        ">A<" in translated("strings.xml", f"<resources>{tag}a</string></resources>").data.decode()
    )
    assert time.process_time() - begun < 1
