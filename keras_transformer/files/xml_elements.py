"""XML as elements that know where they stand in the text of their file."""

import dataclasses
import html
import re
from collections.abc import Iterator, Mapping
from typing import Literal
from xml.parsers import expat

from keras_transformer.files.codes import Code, Role
from keras_transformer.files.segments import Copied, Edit
from keras_transformer.files.text_document import TextDocument

# By names of elements: "inside" of those whose content is text, too, else the role of a code.
Roles = Mapping[str, Literal["inside"] | Role]
_TOKEN = re.compile(
    r"(?P<comment><!--.*?-->|<\?.*?\?>)|<!\[CDATA\[(?P<cdata>.*?)\]\]>"
    r"|(?P<doctype><!DOCTYPE(?:[^\[>\"']|\"[^\"]*\"|'[^']*')*"
    r"(?:\[(?:<!--.*?-->|<\?.*?\?>|[^\]\"']|\"[^\"]*\"|'[^']*')*+\]\s*)?>)"
    r"|<(?P<closes>/)?(?P<name>[^\s/<>]+)(?P<rest>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)(?P<alone>/)?>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"\s([^\s=]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_DECLARED = re.compile(r"<\?xml[^>]*?encoding\s*=\s*[\"']([\w.:-]+)")
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d+|#[xX][0-9a-fA-F]+);)[\w.:-]+;")
# XML has no characters of control but these.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclasses.dataclass
class Node:
    """A part of a file: text, CDATA, an element, or what is none of them, such as a comment.

    Attributes:
        kind: Which of them.
        start: Its first character.
        end: The character behind its last one.
    """

    kind: Literal["text", "cdata", "element", "other"]
    start: int
    end: int


@dataclasses.dataclass
class Element(Node):
    """An element.

    Attributes:
        name: Its name, with its prefix.
        attributes: Their values.
        inner: Where its content begins and ends; both behind it if it is empty, as in `<a/>`.
        nodes: Its content.
    """

    name: str
    attributes: dict[str, str]
    inner: tuple[int, int]
    nodes: list[Node] = dataclasses.field(default_factory=list)

    @property
    def local(self) -> str:
        """Its name without the prefix."""
        return self.name.rpartition(":")[2]

    @property
    def elements(self) -> list["Element"]:
        """The elements that are its content."""
        return [node for node in self.nodes if isinstance(node, Element)]

    def first(self, local: str) -> "Element | None":
        """Returns the first element of a name that is its content."""
        return next((one for one in self.elements if one.local == local), None)

    def all(self, *local: str) -> Iterator["Element"]:
        """Yields all elements of some names inside it, in order."""
        for one in self.elements:
            if one.local in local:
                yield one
            yield from one.all(*local)


class XmlDocument(TextDocument):
    """A file of XML.

    Args:
        data: The file.
        root: The name of the format's outermost element; None for any.

    Attributes:
        root: Its outermost element.

    Raises:
        ValueError: It is not XML, or another element is the outermost one.
    """

    has_references = True

    def __init__(self, data: bytes, root: str | None = None) -> None:
        super().__init__(data, _declared)
        parser = expat.ParserCreate("utf-8")
        try:
            parser.Parse(self.text.removeprefix("\ufeff").encode(), True)
        except expat.ExpatError as error:
            raise ValueError(f"it is not XML: {error}.") from error
        self.root = _root(self.text)
        if root not in (None, self.root.local):
            raise ValueError(f"its outermost element is <{self.root.name}>, not <{root}>.")

    def indent(self, node: Node) -> str:
        """Returns the line break and the spaces before a node; "" if something else is there."""
        place = self.text.rfind("\n", 0, node.start)
        space = self.text[place + 1 : node.start]
        if place < 0 or space.strip(" \t"):
            return ""
        return ("\r\n" if self.text.endswith("\r", 0, place) else "\n") + space

    def items(self, element: Element, roles: Roles) -> Iterator[str | Code]:
        """Yields the content of an element: its text, and codes for what else it holds.

        Args:
            element: The element.
            roles: By the name of an element: "inside" if its content is text, too, else the role
                of the whole one as a code, "alone" of those that are not named.
        """
        for node in element.nodes:
            here = Copied(node.start, node.end)
            if node.kind == "text":
                yield from _text_items(self.text[node.start : node.end], node.start)
            elif node.kind == "cdata":
                yield self.text[node.start + 9 : node.end - 3]
            elif not isinstance(node, Element):
                yield Code(here, "mark")
            elif roles.get(node.local) == "inside" and not _is_kept(node):
                start, end = node.inner
                if start == node.end:
                    yield Code(here)
                    continue
                yield Code(Copied(node.start, start), "opens", node.name)
                yield from self.items(node, roles)
                yield Code(Copied(end, node.end), "closes", node.name)
            else:
                role = roles.get(node.local, "alone")
                yield Code(here, "alone" if role == "inside" else role)

    def plain(self, element: Element) -> str:
        """Returns the text of an element, without what else it holds."""
        return "".join(
            html.unescape(self.text[node.start : node.end])
            if node.kind == "text"
            else self.text[node.start + 9 : node.end - 3]
            for node in element.nodes
            if node.kind in ("text", "cdata")
        )

    def attribute_edit(self, element: Element, name: str, value: str) -> Edit:
        """Returns what sets an attribute of an element."""
        said = '"' + escaped(value).replace('"', "&quot;") + '"'
        head = self.text[element.start : element.inner[0]]
        for found in _ATTRIBUTE.finditer(head):
            if found[1] == name:
                start, end = found.span(2)
                return Edit(element.start + start, element.start + end, (said,))
        place = element.start + 1 + len(element.name)
        return Edit(place, place, (f" {name}={said}",))


def _is_kept(element: Element) -> bool:
    said = element.attributes
    return said.get("translate") == "no" or said.get("mtype") == "protected"


def escaped(text: str) -> str:
    """Returns a text as XML has it, without what XML cannot hold."""
    return html.escape(_FORBIDDEN.sub("", text), quote=False)


def _text_items(raw: str, start: int) -> Iterator[str | Code]:
    """Yields text, and entities that only the file knows as codes."""
    at = 0
    for found in _ENTITY.finditer(raw):
        yield html.unescape(raw[at : found.start()])
        yield Code(Copied(start + found.start(), start + found.end()))
        at = found.end()
    yield html.unescape(raw[at:])


def _declared(text: str) -> str | None:
    found = _DECLARED.match(text)
    return found[1] if found else None


def _root(text: str) -> Element:
    """Returns the outermost element of XML that is well-formed."""
    top = Element("element", 0, len(text), "", {}, (0, len(text)))
    waiting, at = [top], 0
    for found in _TOKEN.finditer(text):
        start, end = found.span()
        if start > at:
            waiting[-1].nodes.append(Node("text", at, start))
        at = end
        if found["closes"]:
            done = waiting.pop()
            done.inner, done.end = (done.inner[0], start), end
        elif found["name"]:
            values = {
                name: html.unescape(value[1:-1])
                for name, value in _ATTRIBUTE.findall(found["rest"])
            }
            one = Element("element", start, end, found["name"], values, (end, end))
            waiting[-1].nodes.append(one)
            if not found["alone"]:
                waiting.append(one)
        else:
            waiting[-1].nodes.append(
                Node("other" if found["cdata"] is None else "cdata", start, end)
            )
    return top.elements[0]
