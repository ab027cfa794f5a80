"""Texts by their keys: `.properties`, `.strings`, JSON and YAML, with their escapes and quotes."""

import pytest

from keras_transformer.files.segments import Translation


@pytest.mark.parametrize(
    ("name", "source", "written"),
    [
        ("a.properties", "a = say\\\n   more\n", "a = SAYMORE\n"),
        ("a.properties", "a=it\\'s\\u00fc\n", "a=IT'S\\u00dc\n"),
        ("a.properties", "a=b \\ud83d\\ude00\n", "a=B \\ud83d\\ude00\n"),
        ("a.properties", "a=b\\u000dc\n", "a=B\\rC\n"),
        ("a.properties", "a={0} can''t\n", "a={0} CAN''T\n"),
        ("a.properties", "# ü\na:b\\tc\\n", "# ü\na:B\\tC\\n"),
        ("a.strings", '"k" = "say \\"%@\\"\\n";', '"k" = "SAY \\"%@\\"\\n";'),
        ("a.strings", '"k" = "\\U00fcber";', '"k" = "ÜBER";'),
        ("a.strings", '/* "a" = "b"; */ k = "c";', '/* "a" = "b"; */ k = "C";'),
        ("a.json", '{"a": ["x\\n", 1], "@a": "b"}', '{"a": ["X\\n", 1], "@a": "b"}'),
        ("a.json", '{"a": "\\u00fc"}', '{"a": "\\u00dc"}'),
        ("a.yml", "a: it is # so\nb: 1", "a: IT IS # so\nb: 1"),
        ("a.yml", "a: 'it''s'\nb: \"x\\ny\"", "a: 'IT''S'\nb: \"X\\nY\""),
        ("a.yml", "a: |\n  x\n  y\n\nb: 2\n", "a: |\n  X\n  Y\n\nb: 2\n"),
        ("a.yml", "a: >\n  x\n  y\nb: no\n", "a: |\n  X Y\nb: no\n"),
        ("a.yml", "a: |2\n    x\n  y\n", "a: |2\n    X\n  Y\n"),
        ("a.yml", "a: |\r\n  x\r\n  y\r\nb: 2\r\n", "a: |\r\n  X\r\n  Y\r\nb: 2\r\n"),
        ("a.yml", "a: &b x\nc: *b\n", "a: &b X\nc: *b\n"),
    ],
)
def test_texts_are_written_as_they_were(name, source, written, translated) -> None:
    assert translated(name, source).data.decode() == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("ja", "ja"),
        ("yes", '"yes"'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ("- a", '"- a"'),
        ("a, b", '"a, b"'),
        ("a\nb", '"a\\nb"'),
    ],
)
def test_plain_yaml_gets_quotes_where_it_needs_them(text, written, translated) -> None:
    outcome = translated("a.yml", "a: x\n", lambda texts, profile: [Translation(text)])
    assert outcome.data.decode() == f"a: {written}\n"


@pytest.mark.parametrize(("key", "written"), [("en", "pl"), ("en-GB", "pl"), ("app", "app")])
def test_rails_names_the_language(key: str, written: str, translated) -> None:
    data = translated("en.yml", f"{key}:\n  a: b\n", language="pl").data
    assert data.decode() == f"{written}:\n  a: B\n"


@pytest.mark.parametrize(("name", "source"), [("a.properties", "a=b\n"), ("a.strings", "a='b';")])
def test_low_confidence_is_a_comment(name: str, source: str, translated) -> None:
    def doubtful(texts, profile):
        return [Translation(text, is_doubtful=True) for text in texts]

    source = source.replace("'", '"')
    lines = translated(name, source, doubtful).data.decode().splitlines()
    assert "low confidence" in lines[0] and lines[1] == source.strip()


@pytest.mark.parametrize(
    ("name", "source", "error"),
    [
        ("a.strings", '"a" = "b"', "line 1 is no entry such as"),
        ("a.json", '{"a": }', "it is not JSON: Expecting value: line 1"),
        ("a.yml", "a: [", "it is not YAML"),
        ("strings.xml", "<a/>", "its outermost element is <a>, not <resources>"),
    ],
)
def test_what_is_no_such_file_is_refused(name, source, error, translated) -> None:
    with pytest.raises(ValueError, match=error):
        translated(name, source)


@pytest.mark.parametrize("comments", ["/" * 60 + "\n", "/* c */\n" * 60, "// http://a.b\n" * 60])
def test_comments_behind_what_is_no_entry_are_read_once(comments: str, translated) -> None:
    with pytest.raises(ValueError, match="line 1 is no entry such as"):
        translated("a.strings", f'"a" = "b"\n{comments}"c" = "d";\n')


def test_what_is_used_again_is_read_once(translated) -> None:
    lists = (f"l{n}: &l{n} [*l{n - 1}, *l{n - 1}]\n" for n in range(1, 60))
    source = "".join(["l0: &l0 [x]\n", *lists])
    assert translated("a.yml", source).data.decode() == source.replace("x", "X")
    assert translated("a.yml", "a: &a [x, *a]\n").data == b"a: &a [X, *a]\n"
