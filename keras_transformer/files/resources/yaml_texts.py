"""Texts in YAML, as Ruby on Rails and others have them: `.yml`, `.yaml`."""

import json
import locale
import re
from collections.abc import Iterator, Sequence
from typing import Any

from keras_transformer.distribution import install_command
from keras_transformer.files.segments import Edit, Reading, Segment
from keras_transformer.files.text_document import TextDocument

try:
    import yaml
    from yaml.composer import Composer
except ImportError as error:
    raise ImportError(
        f"reading YAML needs PyYAML: install it with `{install_command('cli')}`."
    ) from error

_STRING = "tag:yaml.org,2002:str"
# An anchor and a tag.
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)+")
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_][A-Za-z]{2,4})?")
# "app" and "ui" are none.
_LANGUAGES = frozenset(name.partition("_")[0] for name in locale.locale_alias)


_Loader: Any = yaml.SafeLoader
# libyaml reads seven times as fast, where PyYAML was built with it.
if hasattr(yaml, "CSafeLoader"):

    class _FastLoader(Composer, yaml.CSafeLoader):
        """Makes nodes in Python: where they are too deep, its own way ends the process."""

        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            Composer.__init__(self)

    _Loader = _FastLoader


class YamlDocument(TextDocument):
    """Texts in YAML, by their keys: all strings that are values are translated. The language of the
    translations replaces the only outermost key, if that is the code of one.

    Raises:
        ValueError: It is not YAML.
    """

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data)
        self._language = reading.language
        try:
            self._roots = list(yaml.compose_all(self.text[self.begin :], _Loader))
        except yaml.YAMLError as error:
            raise ValueError(f"it is not YAML: {error}.") from error
        found = {
            # What is used again is translated where it stands.
            node.start_mark.index: self._segment(node, keys)
            for root in self._roots
            for node, keys in _texts(root, (), set())
        }
        self.segments = [found[place] for place in sorted(found)]

    def file_edits(self) -> list[Edit]:
        """Returns what makes the language the outermost key."""
        keys = [root.value for root in self._roots if isinstance(root, yaml.MappingNode)]
        return [
            Edit(*self._span(key), (self._language,))
            for [(key, _), *others] in filter(None, keys)
            if self._language and not others and _is_language(str(key.value))
        ]

    def _span(self, node: yaml.Node) -> tuple[int, int]:
        """Returns where a node begins and ends in the file."""
        return self.begin + node.start_mark.index, self.begin + node.end_mark.index

    def _segment(self, node: yaml.ScalarNode, keys: Sequence[str]) -> Segment:
        return Segment(
            texts=(node.value,),
            edits=lambda found: [self._edit(node, found[0].text)],
            line=node.start_mark.line + 1,
            context=".".join(keys),
        )

    def _edit(self, node: yaml.ScalarNode, text: str) -> Edit:
        start, end = self._span(node)
        properties = _PROPERTIES.match(self.text, start)
        start = properties.end() if properties else start
        if node.style in ("|", ">"):
            return Edit(start, end, (self._block(self.text[start:end], node.value, text),))
        if node.style == "'" and "\n" not in text:
            return Edit(start, end, ("'" + text.replace("'", "''") + "'",))
        is_plain = not node.style and _is_plain(text)
        return Edit(start, end, (text if is_plain else json.dumps(text, ensure_ascii=False),))

    def _block(self, raw: str, value: str, text: str) -> str:
        """Returns a block whose lines are those of a text, indented as those of the block before,
        whose first one may have spaces of its own.
        """
        head, _, rest = raw.partition("\n")
        indent = re.match(r"[\r\n]*([ ]*)", rest)
        behind = rest[len(rest.rstrip(" \r\n")) :]
        own = value.lstrip("\n")
        space = indent[1][len(own) - len(own.lstrip(" ")) :] if indent else ""
        lines = [space + line if line else "" for line in text.rstrip("\n").split("\n")]
        first = head.rstrip("\r").replace(">", "|")
        return self.line_break.join([first, *lines]) + behind


def _is_language(key: str) -> bool:
    found = _LANGUAGE.fullmatch(key)
    return found is not None and found[1] in _LANGUAGES


def _texts(
    node: yaml.Node | None, keys: tuple[str, ...], seen: set[int]
) -> Iterator[tuple[yaml.ScalarNode, tuple[str, ...]]]:
    """Yields the strings that are values, each with the keys that first lead to it."""
    # What is used again, perhaps inside itself, may be more than can be walked through.
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode) and node.tag == _STRING:
        yield node, keys
    elif isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from _texts(one, keys, seen)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _texts(value, (*keys, str(key.value)), seen)


def _is_plain(text: str) -> bool:
    """Returns whether a text needs no quotes, in lists and mappings of both styles."""
    if text != text.strip() or "\n" in text:
        return False
    try:
        return bool(yaml.load(f"- {text}\n- [{text}]", _Loader) == [text, [text]])
    except (yaml.YAMLError, ValueError, RecursionError):
        # What looks like a date may be none, and brackets may be too many.
        return False
