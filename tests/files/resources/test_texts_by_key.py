"""Texts by their keys: `.properties`, `.strings`, JSON and YAML, with their escapes and quotes."""

import importlib.util
import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.files.resources.yaml_texts import YamlDocument
from keras_transformer.files.segments import Reading, Translation


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
        ("2020-13-45", '"2020-13-45"'),
        ("[" * 2_000, f'"{"[" * 2_000}"'),
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


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("loader", ["CSafeLoader", None])
def test_a_file_is_the_same_by_either_loader(loader, mark, monkeypatch) -> None:
    if loader is None:
        monkeypatch.delattr(yaml, "CSafeLoader")
    spec = importlib.util.find_spec(YamlDocument.__module__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    source = f"{mark}en:\n  a: x\n  b: 'y \U0001f600'\n  c: |\n    z\n"
    document = module.YamlDocument(source.encode(), Reading(language="pl"))
    assert [one.texts for one in document.segments] == [("x",), ("y \U0001f600",), ("z\n",)]
    found = {n: [Translation(one.texts[0].upper())] for n, one in enumerate(document.segments)}
    wanted = source.replace("en", "pl").replace("x", "X").replace("y", "Y").replace("z", "Z")
    assert document.written(found).decode() == wanted


@given(
    st.lists(
        st.sampled_from(
            ["a: b", "c: 'd'", "g: |", "  h", "", "k: >-", "# m", "n: &x o", "p: *x", "r:", "  - s"]
            + [
                "  - t # u",
                "  v: w",
                "x: [y, z]",
                "'é': \"\\u00e9 \U0001f600\"",
                "---",
                "  b c",
                "- 1",
            ]
        )
    ).map("\n".join)
)
def test_texts_stand_where_the_loader_of_python_sees_them(text: str) -> None:
    try:
        nodes = list(yaml.compose_all(text, yaml.SafeLoader))
    except yaml.YAMLError:
        with pytest.raises(ValueError, match="it is not YAML"):
            YamlDocument(text.encode(), Reading())
        return
    found = [(one.texts[0], one.line) for one in YamlDocument(text.encode(), Reading()).segments]
    assert found == [(one.value, one.start_mark.line + 1) for one in values(nodes)]


def values(nodes: list[yaml.Node]) -> list[yaml.ScalarNode]:
    """Returns the strings that are values, each once, in the order of the file."""
    found, rest = {}, [one for one in nodes if one]
    while rest:
        node = rest.pop()
        if isinstance(node, yaml.MappingNode):
            rest += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            rest += node.value
        elif node.tag == "tag:yaml.org,2002:str":
            found[node.start_mark.index] = node
    return [found[place] for place in sorted(found)]


@pytest.mark.parametrize("part", ["[", "- ", "{a: ", "? "])
def test_a_file_that_is_nested_too_deeply_is_refused(part: str, translated) -> None:
    with pytest.raises(ValueError, match="it is nested too deeply"):
        translated("a.yml", part * 100_000)


def test_thousands_of_keys_are_read_and_written_before_python_alone_has_read_them() -> None:
    source = "".join(f"key{n}: The file could not be opened\n" for n in range(5_000))
    begun = time.process_time()
    list(yaml.compose_all(source, yaml.SafeLoader))
    between = time.process_time()
    document = YamlDocument(source.encode(), Reading())
    document.written({place: [Translation("Datei")] for place in range(5_000)})
    assert time.process_time() - between < between - begun
