"""A server in a thread of the test's process, on ports of its own, what asks it, and small models
of every family to serve.
"""

import asyncio
import dataclasses
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import uvloop

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.runtime.translator import OnnxTranslator
from keras_transformer.search.options import SearchOptions
from keras_transformer.serving import server as server_file
from keras_transformer.serving.models.versioning import versions
from keras_transformer.serving.server import serve as serve_until
from keras_transformer.serving.settings import ServeOptions
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from keras_transformer.translation.by_sentence import SentenceTranslator

MODEL = "demo"
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
_START_SECONDS = 60


@dataclasses.dataclass
class Server:
    """A running server.

    Attributes:
        rest_url: Where its REST side answers.
        line: What it printed when it was ready.
    """

    line: str
    rest_url: str
    loop: asyncio.AbstractEventLoop
    stopping: asyncio.Event
    thread: threading.Thread

    @property
    def model_url(self) -> str:
        """URL of the model."""
        return f"{self.rest_url}/v1/models/{MODEL}"

    def predict(self, body: Any, path: str = ":predict", **options: Any) -> requests.Response:
        """Sends a body, JSON unless it is bytes."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return requests.post(self.model_url + path, data=data, timeout=60, **options)

    def get(self, path: str = "") -> requests.Response:
        """Gets a path below the model's."""
        return requests.get(self.model_url + path, timeout=60)

    def metric(self, name: str, **labels: str) -> float:
        """Returns the sum of a metric over all its labels but these."""
        text = requests.get(f"{self.rest_url}/metrics", timeout=60).text
        total = 0.0
        for found, value in re.findall(rf"^{name}({{.*}})? (\S+)$", text, re.MULTILINE):
            if all(f'{label}="{wanted}"' in found for label, wanted in labels.items()):
                total += float(value)
        return total

    def stop(self) -> None:
        """Asks it to stop, as SIGTERM does, and waits until it has."""
        self.begin_to_stop()
        self.thread.join(_START_SECONDS)
        assert not self.thread.is_alive()

    def begin_to_stop(self) -> None:
        """Asks it to stop."""
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.stopping.set)


def start_server(
    artefact: Path | None, search: SearchOptions | dict[str, Any], **options: Any
) -> Server:
    """Starts a server, of the model `demo` unless a file names others, and waits for it."""
    chosen = {"port": 0, "poll_seconds": 0.05, "log_requests": False}
    if artefact is not None:
        chosen["model_name"] = MODEL
    settings = ServeOptions(artefact=artefact, **{**chosen, **options})
    ready, found, failure = threading.Event(), [], []

    async def run() -> None:
        stopping = asyncio.Event()
        found.append((asyncio.get_running_loop(), stopping))

        def tell(line: str) -> None:
            found.append(line)
            ready.set()

        given = search if isinstance(search, dict) else dataclasses.asdict(search)
        await serve_until(settings, given, tell, stopping)

    def work() -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(run())
        except BaseException as error:
            failure.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert ready.wait(_START_SECONDS)
    if failure:
        raise failure[0]
    (loop, stopping), line = found
    [url] = re.findall(r"http://\S+?:\d+", line)
    return Server(line, url, loop, stopping, thread)


@pytest.fixture(scope="session", autouse=True)
def _stop_quickly() -> Iterator[None]:
    """Servers wait for no open connection to be told of their end, and collect no garbage, which
    would take nearly a second of each test that starts one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_file, "_PARTING_SECONDS", 0.0)
        patch.setattr(versions, "return_freed_memory", lambda: None)
        yield


@pytest.fixture
def start() -> Iterator[Callable[..., Server]]:
    """`start(artefact, search=SearchOptions(), **options)`: a server that ends with the test."""
    started: list[Server] = []

    def begin(
        artefact: Path | None = None,
        search: SearchOptions | dict[str, Any] | None = None,
        **options: Any,
    ) -> Server:
        search = SearchOptions(max_length=40) if search is None else search
        started.append(start_server(artefact, search, **options))
        return started[-1]

    yield begin
    for server in started:
        server.stop()


@pytest.fixture(scope="module")
def start_shared() -> Iterator[Callable[..., Server]]:
    """As `start`, for servers that a file's tests share."""
    started: list[Server] = []

    def begin(artefact: Path | None, **options: Any) -> Server:
        search = options.pop("search", SearchOptions(max_length=40))
        started.append(start_server(artefact, search, **options))
        return started[-1]

    yield begin
    for server in started:
        server.stop()


GREEDY = {"max_length": 40}
BEAM = {"max_length": 40, "beam_size": 3, "num_hypotheses": 2}


@pytest.fixture(scope="session", params=[GREEDY, BEAM], ids=["greedy", "beam"])
def search(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The search options of `server`."""
    return request.param


@pytest.fixture(scope="session")
def server(exported: Any, search: dict[str, Any]) -> Iterator[Server]:
    """A server that tests share and leave running."""
    running = start_server(exported.path, SearchOptions(**search), max_source_length=40)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def translator(exported: Any) -> Iterator[OnnxTranslator]:
    """The bare translator of `server`'s artefact."""
    with OnnxTranslator(exported.path) as opened:
        yield opened


@pytest.fixture(scope="session")
def splitting(exported: Any) -> Iterator[SentenceTranslator]:
    """What the command line translates with, on the artefact of `server` and with its limit."""
    with OnnxTranslator(exported.path, max_source_length=40) as translator:
        yield SentenceTranslator(translator)


@pytest.fixture(scope="session")
def events() -> Callable[[requests.Response], list[tuple[str, dict[str, str]]]]:
    """`events(response)` reads server-sent events: name and data of each."""
    return _read_events


def _read_events(response: requests.Response) -> list[tuple[str, dict[str, str]]]:
    found = []
    for block in response.content.decode().strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields.get("event", "message"), json.loads(fields["data"])))
    return found


SIZES = {"vocab_size": 60, "model_dim": 16, "feed_forward_dim": 24, "num_heads": 2, "num_layers": 1}
LABELS = {
    "classification": ("good", "bad", "neither"),
    "languages": ("de", "en", "pt-BR"),
    "tagging": ("noun", "verb"),
}
SEARCH = {"beam_size": 2, "num_hypotheses": 2, "max_length": 6}
# What of it a model uses.
USED: dict[str | None, Any] = {
    "decoder": SEARCH,
    "masked_lm": {"num_hypotheses"},
    "pretraining": {"num_hypotheses"},
}
# Of a model with the head "embedding".
VECTORS = {
    "pooling": "max+last",
    "dense": ({"out_dim": 5},),
    "prompts": {"query": "the river ", "none": ""},
    "default_prompt": "query",
}


@pytest.fixture(scope="session")
def family_artefact(
    texts: list[str], randomize: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str | None], Path]:
    """`family_artefact(head)`: an encoder with a head, or the "decoder", or one that classifies
    "languages"; each made once.
    """
    from keras_transformer.export import export_onnx
    from keras_transformer.models.decoder_only import build_decoder
    from keras_transformer.models.encoder_only import build_encoder

    made: dict[str | None, Path] = {}

    def make(head: Any) -> Path:
        if head not in made:
            tokenizer: Tokenizer = train_tokenizer(texts, 60, "bpe", has_mask=True)
            settings = {**SIZES, "special_ids": tokenizer.special_ids, "max_positions": 24}
            if head == "decoder":
                model = build_decoder(DecoderConfig(**settings))
            else:
                own = VECTORS if head == "embedding" else {"labels": LABELS.get(head, ())}
                kind = "classification" if head == "languages" else head
                model = build_encoder(EncoderConfig(head=kind, **own, **settings))
            path = tmp_path_factory.mktemp("family") / str(head)
            made[head] = export_onnx(randomize(model), tokenizer, path)
        return made[head]

    return make


@pytest.fixture
def serve(family_artefact: Callable[[Any], Path], start: Callable[..., Any]) -> Callable[..., Any]:
    """`serve(head, **options)`: a server of such a model."""

    def run(head: str | None, **options: Any) -> Any:
        search = {name: value for name, value in SEARCH.items() if name in USED.get(head, ())}
        return start(family_artefact(head), search, max_source_length=18, **options)

    return run


@pytest.fixture(scope="session")
def chat_artefact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama with a chat template, imported and exported."""
    from keras_transformer.export import export_run
    from keras_transformer.training.transfer.import_run import import_run

    reference = json.loads((FIXTURES / "chats" / "reference.json").read_text("utf-8"))
    folder = tmp_path_factory.mktemp("chat")
    shutil.copytree(FIXTURES / "stacks" / "llama3", folder / "theirs")
    file = folder / "theirs" / "tokenizer_config.json"
    config = json.loads(file.read_text("utf-8"))
    config["chat_template"] = [
        {"name": "tool_use", "template": "{{ raise_exception('no tools') }}"},
        {"name": "default", "template": reference["templates"]["llama"]},
    ]
    file.write_text(json.dumps(config), "utf-8")
    generation = folder / "theirs" / "generation_config.json"
    generation.write_text(json.dumps({"eos_token_id": [341, 342]}), "utf-8")
    run = import_run(folder / "theirs", folder / "run")
    return export_run(run, folder / "chatting", target="onnxruntime")


@pytest.fixture(scope="session")
def generating(family_artefact: Callable[[Any], Path]) -> Iterator[Server]:
    """A server of a generator, which tests share and leave running."""
    search = SearchOptions(max_length=40)
    running = start_server(family_artefact("decoder"), search, max_source_length=18)
    yield running
    running.stop()
