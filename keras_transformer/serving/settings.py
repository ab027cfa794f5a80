"""The options of a server other than search options: addresses, limits, batching, reload, logs."""

import dataclasses
import ipaddress
import math
import re
from pathlib import Path
from typing import Any, Literal

from keras_transformer.config.checks import check_declared
from keras_transformer.markup.casing import Casing
from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.terms import TermUse
from keras_transformer.search.confidence import check_min_score
from keras_transformer.search.model_limits import MAX_SOURCE_LENGTH
from keras_transformer.serving.models.model_options import (
    LanguagePair,
    ModelOptions,
    VersionPolicy,
    parse_labels,
    parse_pairs,
)
from keras_transformer.text.letterless import Letterless
from keras_transformer.text.passage import LANGUAGE

_HOST = re.compile(r"\*|(\*\.)?[\w-]+(\.[\w-]+)*|[0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*", re.ASCII)
_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://([\w.-]+|\[[0-9a-f:.]+\])(:\d+)?", re.ASCII)
_ROOT = re.compile(r"(?!/(v1|page)(/|$))(/[\w.~-]+)*", re.ASCII)


def _repeated() -> Any:
    """Returns a field of texts whose flag may be given several times."""
    return dataclasses.field(default=(), metadata={"repeat": True})


LongTexts = Literal["split", "refuse", "cut"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of a server.

    Args:
        artefact: An exported artefact (served as version 1), or a base directory with a directory
            for each version, named by its number; None if `model_config` is given.
        model_config: File of models in TensorFlow Serving's format (ModelServerConfig as text),
            instead of one artefact.
        model_name: Name of the model in requests; the directory's name if None.
        versions: Which versions are served at once: "latest", the N newest as "latest:N", "all", or
            numbers such as "1,2".
        version_labels: Names for versions, each LABEL=VERSION, such as stable=1; these versions are
            served whatever `versions` says.
        host: Address to listen on; "0.0.0.0" opens the server to other machines.
        allowed_hosts: Names that the `Host` of a REST request may have, such as api.example.com or
            *.example.com; "*" allows any. If none is given: those of the loopback interface if
            `host` is on it, any otherwise.
        cors_origin: Origins whose web pages may send REST requests, such as
            https://app.example.com; "*" allows any.
        root_path: Prefix under which a proxy passes the REST side on, such as /translate.
        forwarded_allow_ips: Addresses or networks of proxies whose headers `X-Forwarded-Proto`,
            `X-Forwarded-Host` and `X-Forwarded-Prefix` count; "*" trusts any client.
        api_key_file: File with a key in each line; clients must send one of them as bearer token.
            No key is needed if None.
        port: Port of the REST side; 0 picks a free one.
        grpc_port: Port of the gRPC side; 0 picks a free one; no gRPC if None.
        max_batch: Most sentences translated together.
        max_wait_ms: Milliseconds that an idle model waits for a batch to fill. At 0 batches form
            from the requests that arrive while the model works.
        max_queue: Most sentences that wait for the model; more are refused.
        request_timeout: Seconds after which a request fails; a client may set a shorter time.
        max_body_bytes: Largest body of a REST request, largest message of a gRPC one.
        max_header_bytes: Most bytes of a REST request's line, headers and trailers together.
        header_timeout: Seconds within which a REST request's head must arrive, and within which the
            rest of a request that was answered before its end must follow.
        max_sentences: Most sentences in one request, after its texts are split.
        max_file_bytes: Largest file to translate, as it is sent; twice as much once unpacked.
        max_file_texts: Most texts to translate in a file; 0 refuses files.
        file_timeout: Seconds after which a request with a file fails; a client may set a shorter
            time.
        max_source_length: Most tokens translated as one text.
        long_texts: "split" translates texts sentence by sentence (as many together as the model was
            trained on) and halves longer sentences; "refuse" translates texts whole, and refuses
            those that are too long; a model trained on single sentences may drop some; "cut", for
            encoders, reads the beginning of texts that are too long. Only translators split texts.
        language: Code of the source language (ISO 639-1), whose abbreviations "split" then knows.
        language_pairs: Languages of models that do not name them, each MODEL=SOURCE-TARGET, such as
            demo=en-es, for clients that name them.
        join_lines: Join the lines of wrapped paragraphs, as in e-mail, in every text to translate;
            a request to `:stream` or `:explain` may also ask for it.
        letterless: Text without letters (numbers, list markers, runs of symbols): "copy" keeps it
            out of the model, "translate" lets the model translate it; "auto" copies the kinds found
            in fewer than one in a hundred training lines, or all kinds if that is unknown. Except
            with "translate", words in letters that the vocabulary lacks are copied, too.
        markup: Profile of the spans (tags, placeholders and the like) that translations keep; the
            one of the model's training if None, "plain" for no spans.
        glossary: File of terms that translations hold, in the form of `translate`; None for none.
        terms: "hard" for terms that must occur, "soft" for terms that the model reads beside the
            words of the text and may inflect, "both" for both; the last two need a model trained
            with --soft-terms. Hard if None.
        casing: "recase" translates a text in capitals as a sentence and puts its translation in
            capitals; "keep" leaves it as it is, and so does "auto" if one in a hundred of the
            model's training lines was in capitals.
        min_score: Mean log-probability per token, in nats, below which a translation has low
            confidence; the artefact's if None.
        poll_seconds: Seconds between checks for new versions.
        threads: Threads for the model; one for each core that the process may use if None.
        provider: onnxruntime's execution providers for the model, best first, each NAME or
            NAME:option=value,option=value; the CPU if none is given.
        prefix_cache_tokens: Most tokens of prompts whose keys and values a decoder keeps, for later
            prompts that begin alike; 2048 if None, or 0 for an artefact that cannot continue after
            them.
        adapter: Low-rank adapters of a decoder, each NAME=FILE, such as pirate=pirate.lora.npz,
            which requests of OpenAI's API name as `model`; for an artefact exported with
            --adapters.
        mmap: Map files of weights instead of reading them, so that servers share their memory. A
            change to such a file then changes the answers, and truncating it ends the server.
        drain_seconds: Seconds that requests have to finish after the signal to stop.
        log_requests: Write a line of JSON to standard error for each request.
        log_text: Put the requests' texts into that line.

    Raises:
        ValueError: There is nothing to serve, a number is out of range, or two options contradict
            each other; the message names them.
    """

    artefact: Path | None = None
    model_config: Path | None = None
    model_name: str | None = None
    versions: str = "latest"
    version_labels: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    allowed_hosts: tuple[str, ...] = _repeated()
    cors_origin: tuple[str, ...] = _repeated()
    root_path: str = ""
    forwarded_allow_ips: tuple[str, ...] = _repeated()
    api_key_file: Path | None = None
    port: int = 8501
    grpc_port: int | None = None
    max_batch: int = 64
    max_wait_ms: float = 0.0
    max_queue: int = 1024
    request_timeout: float = 30.0
    max_body_bytes: int = 1 << 20
    max_header_bytes: int = 1 << 15
    header_timeout: float = 10.0
    max_sentences: int = 256
    max_file_bytes: int = 1 << 22
    max_file_texts: int = 2000
    file_timeout: float = 300.0
    max_source_length: int = MAX_SOURCE_LENGTH
    long_texts: LongTexts = "split"
    language: str = LANGUAGE
    language_pairs: tuple[str, ...] = ()
    join_lines: bool = False
    letterless: Letterless = "auto"
    markup: Profile | None = None
    glossary: Path | None = None
    terms: TermUse | None = None
    casing: Casing = "auto"
    min_score: float | None = None
    poll_seconds: float = 1.0
    threads: int | None = None
    provider: tuple[str, ...] = ()
    prefix_cache_tokens: int | None = None
    adapter: tuple[str, ...] = _repeated()
    mmap: bool = False
    drain_seconds: float = 30.0
    log_requests: bool = True
    log_text: bool = False

    def __post_init__(self) -> None:
        for name in (
            "max_batch",
            "max_queue",
            "max_body_bytes",
            "max_header_bytes",
            "max_sentences",
            "max_file_bytes",
            "max_source_length",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}.")
        for name in ("request_timeout", "file_timeout", "header_timeout", "poll_seconds"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be above 0 seconds, got {getattr(self, name)}.")
        for name in ("max_wait_ms", "max_file_texts", "drain_seconds"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}.")
        for name in ("port", "grpc_port"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1 << 16:
                raise ValueError(f"{name} must be 0 to {(1 << 16) - 1}, got {value}.")
        if self.prefix_cache_tokens is not None and self.prefix_cache_tokens < 0:
            raise ValueError(
                f"prefix_cache_tokens must be at least 0, got {self.prefix_cache_tokens}."
            )
        check_min_score(self.min_score)
        self._check_names()
        check_declared(self)
        if self.max_sentences > self.max_queue:
            raise ValueError(
                f"max_sentences ({self.max_sentences}) is more than max_queue ({self.max_queue}): "
                "such a request could never wait."
            )
        if (self.artefact is None) == (self.model_config is None):
            raise ValueError("either artefact or model_config must be given, not both.")
        if self.model_config is not None:
            for name in ("model_name", "versions", "version_labels", "adapter"):
                if getattr(self, name) != getattr(ServeOptions, name):
                    raise ValueError(f"{name} belongs in the file of model_config: leave it out.")
        [*names] = (model.name for model in self.models())
        if twice := set(names).intersection(self.adapters):
            raise ValueError(f"adapter names the model itself, {min(twice)!r}: give another name.")
        _ = self.pairs

    def _check_names(self) -> None:
        for field, form, example in (
            ("allowed_hosts", _HOST, "api.example.com, *.example.com, ::1 or *"),
            ("cors_origin", _ORIGIN, "https://app.example.com or *"),
        ):
            lowered = tuple(value.lower() for value in getattr(self, field))
            object.__setattr__(self, field, lowered)
            for value in lowered:
                if not form.fullmatch(value):
                    raise ValueError(f"{field} must be such as {example}, got {value!r}.")
        root = self.root_path.rstrip("/")
        object.__setattr__(self, "root_path", root)
        if not _ROOT.fullmatch(root):
            raise ValueError(
                "root_path must be such as /translate, and not begin as the server's own paths do "
                f"(/v1, /page), got {self.root_path!r}."
            )
        for value in self.forwarded_allow_ips:
            try:
                _ = value == "*" or ipaddress.ip_network(value, strict=False)
            except ValueError as error:
                raise ValueError(
                    f"forwarded_allow_ips must be addresses, got {value!r}."
                ) from error

    @property
    def adapters(self) -> dict[str, Path]:
        """The file of each adapter, by the name that `adapter` gives it.

        Raises:
            ValueError: One has no name or no file, or two have one name.
        """
        found: dict[str, Path] = {}
        for value in self.adapter:
            name, _, file = value.partition("=")
            if not name or not file or name in found:
                raise ValueError(
                    "adapter must be NAME=FILE, such as pirate=pirate.lora.npz, each with a name "
                    f"of its own, got {value!r}."
                )
            found[name] = Path(file)
        return found

    @property
    def pairs(self) -> list[LanguagePair]:
        """The pairs that `language_pairs` describes."""
        return parse_pairs(self.language_pairs)

    def models(self) -> list[ModelOptions]:
        """Returns the model that the options describe; none if `model_config` describes it.

        Raises:
            ValueError: Its name, its versions or their labels are not valid.
        """
        if self.artefact is None:
            return []
        name = self.artefact.resolve().name if self.model_name is None else self.model_name
        policy = VersionPolicy.parse(self.versions)
        return [ModelOptions(name, self.artefact, policy, parse_labels(self.version_labels))]
