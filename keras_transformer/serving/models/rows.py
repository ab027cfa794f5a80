"""The rows of a request, which a model batches, and the options of sampling and stopping that a
request may set for each row.
"""

import dataclasses
from collections.abc import Hashable, Mapping, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.signatures import Signature, TensorSpec
from keras_transformer.config.sentence_marks import Begins
from keras_transformer.search.grammars import GRAMMARS
from keras_transformer.search.options import SearchOptions
from keras_transformer.search.phrases import Phrases
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.text.passage import Passage
from keras_transformer.text.subwords.slots import AlignedPart

Arrays = Mapping[str, npt.NDArray[Any]]
# Fields of `SearchOptions` and their values, of one row.
Own = tuple[tuple[str, Any], ...]
# Lets bytes that are not UTF-8 pass through a str unchanged.
ANY_BYTES = ("utf-8", "surrogateescape")
_DRAWS = ("temperature", "top_k", "top_p", "seed")
_TEXTS = ("stop", "require")
SAMPLING = (
    TensorSpec("sample", "bool", (None,), "Whether to draw each token at random."),
    TensorSpec("temperature", "float32", (None,), "Divides the logits before a draw; above 0."),
    TensorSpec("top_k", "int32", (None,), "Draw among so many tokens; 0 for all.", least=0),
    TensorSpec("top_p", "float32", (None,), "Draw among tokens of this probability together."),
    TensorSpec("seed", "int32", (None,), "The same seed gives the same text.", least=0),
)
NUM_HYPOTHESES = TensorSpec(
    "num_hypotheses", "int32", (None,), "How many texts, up to the server's limit.", least=1
)
GLOSSARY = TensorSpec(
    "glossary",
    "string",
    (None, None),
    'Terms that the translation holds: a source term, a tab and a target term each; "" fills up.',
)
REQUIRE = TensorSpec(
    "require", "string", (None, None), 'Phrases that the text holds, of one sentence; "" fills up.'
)
GRAMMAR_INPUTS = (
    TensorSpec(
        "json_schema",
        "string",
        (None,),
        'JSON schema that the text fulfils; "" for none.',
        is_json=True,
    ),
    TensorSpec("regex", "string", (None,), 'Expression that the text matches; "" for none.'),
    TensorSpec("choices", "string", (None, None), 'Texts of which the text is one; "" fills up.'),
)
# What a text must hold, of models that translate.
PHRASES = (GLOSSARY.name, REQUIRE.name)
STOP = TensorSpec("stop", "string", (None, None), 'Strings that end the text; "" fills up.')


class TranslationRow(NamedTuple):
    """A text to translate, or one part of it.

    Attributes:
        source: Its ids, without bos and eos.
        prefix: Ids that the translation begins with.
        max_length: Most tokens of the translation, eos included.
        length_penalty: Exponent of the length penalty.
        begins: The marks of its languages.
        own: Fields of `SearchOptions` that the request sets for this row, and their values.
        aligned: The text, if it has spans that an alignment puts back.
        phrases: What the translation holds: what the request requires and, if it can, terms.
    """

    source: Sequence[int]
    prefix: Sequence[int]
    max_length: int
    length_penalty: float
    begins: Begins = Begins()
    own: Own = ()
    aligned: AlignedPart | None = None
    phrases: Phrases = ()

    def adapt(self, search: SearchOptions) -> SearchOptions:
        """Returns the server's search with the row's own options."""
        same = (self.max_length, self.length_penalty) == (search.max_length, search.length_penalty)
        if same and not self.own:
            return search
        return dataclasses.replace(
            search,
            max_length=self.max_length,
            min_length=min(search.min_length, self.max_length),
            length_penalty=self.length_penalty,
            **dict(self.own),
        )


class PairRow(NamedTuple):
    """A text and the translation to score: ids of both, without bos and eos, and their marks."""

    source: Sequence[int]
    target: Sequence[int]
    begins: Begins = Begins()


class Request(NamedTuple):
    """The rows of a request.

    Attributes:
        rows: The rows that the model runs on: each a TranslationRow or a PairRow.
        passages: The texts whose parts the rows are, in order; none if rows are not parts of texts.
        cuts: Says of each text that was cut how much of it is read.
    """

    rows: Sequence[Any]
    passages: Sequence[Passage] = ()
    cuts: Sequence[str] = ()


def most_hypotheses(rows: Sequence[Any], search: SearchOptions) -> int:
    """Returns the most hypotheses that a row of a request asks for."""
    asked = [dict(row.own).get("num_hypotheses", search.num_hypotheses) for row in rows]
    return max(asked, default=search.num_hypotheses)


def with_more(signature: Signature, *more: TensorSpec) -> Signature:
    """Returns a signature that takes more inputs, each of which a request may leave out."""
    return dataclasses.replace(signature, more=more)


def length_options(inputs: Arrays, search: SearchOptions, rows: int) -> list[tuple[int, float]]:
    """Returns the `max_length`, never above the server's, and `length_penalty` of each row of a
    request; those that it leaves out are the server's.
    """
    lengths, penalties = (
        _values(inputs[name]) if name in inputs else [getattr(search, name)] * rows
        for name in ("max_length", "length_penalty")
    )
    return [(min(one, search.max_length), own) for one, own in zip(lengths, penalties, strict=True)]


def own_options(inputs: Arrays, search: SearchOptions, rows: int) -> list[Own]:
    """Returns the options that a request sets for each of its rows.

    Args:
        inputs: The request's arrays.
        search: The server's search.
        rows: How many rows there are.

    Raises:
        ServingError: An option is out of range, or is meant for samples and none is drawn.
    """
    known = ("num_hypotheses", "sample", *_DRAWS, *_TEXTS, *GRAMMARS)
    names = [name for name in known if name in inputs]
    columns = [_values(inputs[name]) for name in names]
    found = []
    for number in range(rows):
        given = dict(zip(names, (column[number] for column in columns), strict=True))
        found.append(own_of(given, search, number))
    return found


def _values(array: npt.NDArray[Any]) -> list[Any]:
    """Returns plain values: 0.8 in float32 means 0.8, as elsewhere."""
    if array.ndim == 2:
        return [[one.decode(errors="replace") for one in row] for row in array.tolist()]
    if array.dtype == object:
        return [one.decode(errors="replace") for one in array.tolist()]
    if array.dtype == np.float32:
        return [float(str(value)) for value in array]
    return array.tolist()


def own_of(given: Mapping[str, Any], search: SearchOptions, number: int | None = None) -> Own:
    """Returns the options of one row, which are checked together with the server's search.

    Raises:
        ServingError: An option is out of range, or is meant for samples and none is drawn.
    """
    own = dict(given)
    for name in _TEXTS:
        if name in own:
            own[name] = [one for one in own[name] if one]
    if isinstance(own.get("choices"), list):
        own["choices"] = [one for one in own["choices"] if one != ""]
    own = {name: one for name, one in own.items() if name not in GRAMMARS or one not in ("", [])}
    if own.get("sample") is True:
        own = {"num_hypotheses": 1, **own, "beam_size": 1}
    elif own.get("sample") is False and search.sample:
        defaults = {one.name: one.default for one in dataclasses.fields(SearchOptions)}
        own = {**{name: defaults[name] for name in _DRAWS}, **own}
    most = max(search.beam_size, search.num_hypotheses)
    try:
        if own.get("num_hypotheses", 1) > most:
            raise ValueError(
                f"num_hypotheses must be at most {most} on this server, got "
                f"{own['num_hypotheses']}: ask for fewer, or serve with a larger --beam-size."
            )
        checked = dataclasses.replace(search, **own)
    except (TypeError, ValueError) as error:
        message = str(error) if number is None else f"row {number}: {error}"
        raise ServingError(Code.INVALID_ARGUMENT, message) from error
    return tuple((name, getattr(checked, name)) for name in own)


def placed(own: Own, place: int) -> Own:
    """Returns a row's options with its place in its request.

    A row with a seed is drawn by itself, so that its text depends on nothing else.
    """
    return (*own, ("first_place", place)) if dict(own).get("seed") is not None else own


def groups_of(rows: Sequence[Any]) -> list[list[int]]:
    """Returns the places of rows that share all options, and so may be searched together."""
    groups: dict[Hashable, list[int]] = {}
    for place, row in enumerate(rows):
        # The place in a request tells rows with a seed apart, but not those of two requests.
        alone = place if dict(row.own).get("seed") is not None else None
        groups.setdefault((options_of(row), alone), []).append(place)
    return list(groups.values())


def options_of(row: Any) -> Hashable:
    """Returns the options that a row is searched with; the same for all that are not searched."""
    names = ("max_length", "length_penalty", "own", "options", "adapter")
    return tuple(getattr(row, name, None) for name in names)


def follows_grammar(row: Any) -> bool:
    """Tells whether a row's text has to follow a grammar."""
    own, options = getattr(row, "own", ()), getattr(row, "options", None)
    return any(name in GRAMMARS for name, _ in own) or bool(options and options.grammar)


def steps_of(row: Any) -> int:
    """Returns about how many steps a row takes: a translation is about as long as its source."""
    limit = getattr(row, "max_length", 0)
    source = getattr(row, "source", None)
    return limit if source is None else min(limit, 2 * len(source) + 8)


def sizes_of(row: Any) -> tuple[int, ...]:
    """Returns the numbers on which a row's time depends: its lengths and its own limits.

    Args:
        row: A text, or a tuple of a model's inputs; the sizes of two rows for the same function can
            be compared one by one.
    """
    parts = row if isinstance(row, tuple) else (row,)
    sizes = (len(part) if isinstance(part, Sized) else part for part in parts)
    return tuple(size for size in sizes if isinstance(size, int))
