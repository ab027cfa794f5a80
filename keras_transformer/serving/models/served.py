"""The interface of a loaded version of a model, whatever its family."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from keras_transformer.artefact.signatures import Signature
from keras_transformer.markup.profiles import Profile
from keras_transformer.search.options import SearchOptions
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.families.completions import Completions
from keras_transformer.serving.models.outputs import Outputs
from keras_transformer.serving.models.rows import Arrays, Request

Run = Callable[[Sequence[Any]], list[Any]]


class Served(Protocol):
    """A model behind signatures: a request's arrays become rows, rows results, results arrays.

    `read` and `write` are quick and serve one request; the function that `run` returns takes the
    rows of many requests at once and is meant for a thread of its own.
    """

    @property
    def signatures(self) -> Mapping[str, Signature]:
        """What requests may call, by name."""
        ...

    @property
    def graphs(self) -> Mapping[str, str]:
        """Which of the artefact's graphs run, and why: `OnnxTranslator.describe`."""
        ...

    def close(self) -> None:
        """Releases the graphs; what is running finishes."""
        ...

    def warm_up(self) -> None:
        """Opens every graph by using it once, so that no request has to wait for it.

        Raises:
            ValueError: A graph cannot be used.
        """
        ...

    def read(self, signature: Signature, inputs: Arrays) -> Request:
        """Returns a row for each row of arrays that have passed `check_inputs`, or for its parts.

        Raises:
            ServingError: A row cannot be answered; the message names it.
        """
        ...

    def run(self, signature: Signature) -> Run:
        """Returns a function from a signature's rows to results; equal functions share batches."""
        ...

    def write(self, signature: Signature, request: Request, results: Sequence[Any]) -> Outputs:
        """Returns the arrays of a request's results."""
        ...


class Languages(NamedTuple):
    """The languages that a request may choose between.

    Attributes:
        codes: The code of each; none if there is nothing to choose.
        source: Whether requests may also choose the text's language.
        source_language: The text's language if a request names none; None if it must name one.
        target_language: The language to translate into if a request names none; None if it must.
    """

    codes: tuple[str, ...] = ()
    source: bool = False
    source_language: str | None = None
    target_language: str | None = None


class Translations(NamedTuple):
    """Translations of several texts.

    Attributes:
        texts: Those of each text, best first.
        doubtful: Whether the best one of each text has low confidence.
        read: Tokens of all texts, their ends included.
        written: Tokens of all translations, likewise.
    """

    texts: list[list[str]]
    doubtful: list[bool]
    read: int
    written: int


@runtime_checkable
class Translating(Served, Protocol):
    """A `Served` that translates, and whose requests may choose languages."""

    @property
    def languages(self) -> Languages:
        """The languages of the model."""
        ...

    def read_texts(
        self,
        texts: Sequence[str],
        languages: tuple[str, str],
        markup: Profile | None,
        count: int,
    ) -> Request:
        """Returns the rows of texts to translate.

        Args:
            texts: The texts.
            languages: Codes of their language and of that to translate into; "" for the default.
            markup: Profile of the spans that translations keep; None for the server's.
            count: How many translations each text gets.

        Raises:
            ServingError: A text is too long, a language is not known, or the search finds fewer.
        """
        ...

    def run_texts(self, count: int) -> Run:
        """Returns a function from these rows to results."""
        ...

    def translations(self, request: Request, results: Sequence[Any]) -> Translations:
        """Returns the translations that results are."""
        ...


@runtime_checkable
class Streaming(Protocol):
    """A `Served` that streams its answer piece by piece, as it is decoded."""

    @property
    def search(self) -> SearchOptions:
        """The search of answers that are not streamed."""
        ...

    @property
    def full_answer(self) -> tuple[str, str]:
        """The signature whose answer the pieces make up, and the output that holds it."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """What its requests had of each other so far, as `DecoderEngine.counts`."""
        ...

    @property
    def joining(self) -> int:
        """The most rows with which a batch joins one that runs; 0 for none."""
        ...

    def read_text(
        self,
        text: str,
        target_prefix: str = "",
        languages: tuple[str, str] = ("", ""),
        own: Mapping[str, Any] = MappingProxyType({}),
    ) -> Request:
        """Returns the rows of one text.

        Args:
            text: The text.
            target_prefix: The text that its answer begins with.
            languages: Codes of its language and of that to translate into; "" for the default.
            own: What the request asks for beside: fields of `SearchOptions`, and terms as lines of
                a `glossary`.

        Raises:
            ServingError: It is too long, or the model takes no prefix or not these languages.
        """
        ...

    def stream(self, row: Any, emit: Callable[[str], bool]) -> None:
        """Answers a row greedily and emits each piece of text, until `emit` returns False."""
        ...


@runtime_checkable
class Completing(Protocol):
    """A `Served` that completes prompts."""

    @property
    def completions(self) -> Completions:
        """What completes prompts."""
        ...


@runtime_checkable
class Adapting(Served, Protocol):
    """A `Served` that low-rank adapters change."""

    def adapted(self, name: str) -> Served:
        """Returns the model with an adapter; both share batches."""
        ...


@runtime_checkable
class Reading(Served, Protocol):
    """A `Served` that reads texts, or pairs of them, and writes none."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What it tells texts apart by; none if it does not."""
        ...

    @property
    def gives_shares(self) -> bool:
        """Whether the number that it gives a text lies in 0 to 1."""
        ...

    def count_tokens(self, rows: Sequence[Any]) -> int:
        """Returns how many tokens it reads of rows, special ones included."""
        ...


@runtime_checkable
class Explaining(Protocol):
    """A `Served` that can show the attention of its answers."""

    def read_text(
        self,
        text: str,
        target_prefix: str = "",
        languages: tuple[str, str] = ("", ""),
        own: Mapping[str, Any] = MappingProxyType({}),
    ) -> Request:
        """As `Streaming.read_text`."""
        ...

    def explain(self, rows: Sequence[Any]) -> list[list[dict[str, Any]]]:
        """Returns each row's hypotheses with their attention."""
        ...

    def describe(self, passage: Any, found: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
        """Returns a text's explanation: its parts with what `explain` found for each."""
        ...


def streaming(name: str, model: Served) -> Streaming:
    """Returns a model, which requests call by a name, as one that streams.

    Raises:
        ServingError: It does not stream.
    """
    if not isinstance(model, Streaming):
        raise _cannot(name, model, "stream")
    return model


def translating(name: str, model: Served) -> Translating:
    """Returns a model as one that translates; see `streaming`."""
    if not isinstance(model, Translating):
        raise _cannot(name, model, "translate")
    return model


def explaining(name: str, model: Served) -> Explaining:
    """Returns a model as one that explains; see `streaming`."""
    if not isinstance(model, Explaining):
        raise _cannot(name, model, "explain")
    return model


def languages_of(model: Served) -> Languages:
    """Returns the languages that requests to a model may choose between."""
    return model.languages if isinstance(model, Translating) else Languages()


def _cannot(name: str, model: Served, verb: str) -> ServingError:
    return ServingError(
        Code.INVALID_ARGUMENT,
        f"{name} has no answers to {verb}: call :predict with one of "
        f"{', '.join(model.signatures)}.",
    )
