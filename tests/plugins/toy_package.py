"""The files of a package that adds one of everything, as `pip install` would leave them in a folder.

The package stands in the folder of a test and imports nothing of the tests.
"""

from pathlib import Path

STORE = '''"""A store of its own name: the memory store, which is all that a toy needs."""

from taskyard.stores.memory import MemoryStore


class ToyStore(MemoryStore):
    def __init__(self, url, clock):
        super().__init__(clock=clock)
        self.url = url


def open_store(url, *, clock, migrates, call_timeout):
    from taskyard.ledger.clock import SystemClock

    return ToyStore(url, clock or SystemClock())
'''

OBJECTS = '''"""A place for artifacts: a dictionary."""

from hashlib import sha256

from taskyard.outbound.object_store import ObjectMissing, WrittenObject


class ToyObjects:
    def __init__(self, url):
        self.url = url
        self.kept = {}

    async def write(self, key, pieces, *, most):
        data = b"".join([piece async for piece in pieces])
        self.kept[key] = data
        return WrittenObject(len(data), sha256(data).hexdigest())

    async def read(self, key, start=0, end=None):
        if key not in self.kept:
            raise ObjectMissing(key)
        yield self.kept[key][start:end]

    async def remove(self, key):
        self.kept.pop(key, None)
'''

CHANNEL = '''"""A service for notifications: it takes plain text at the root of its host."""

from taskyard.outbound.channels import Request


class ToyChannel:
    form = "toy://HOST:PORT"
    parameters = frozenset()
    is_self_hosted = True

    def message(self, target, words):
        return Request("POST", f"http://{target.place}/toy", {"Content-Type": "text/plain"}, words.title.encode())


CHANNEL = ToyChannel()
'''

EMBEDDER = '''"""An embedder that knows how long a text is."""


class ToyEmbedder:
    name = "toy:1"
    dimensions = 2

    def __init__(self, url):
        self.url = url

    async def embed(self, texts):
        return [[len(text), 1] for text in texts]
'''

PROVIDER = '''"""A provider that answers a batch at once, with what was asked."""

import taskyard
from taskyard.worker.cheap_lane.batch_provider import CallOutcome, ProviderResult, SentBatch


class ToyProvider:
    name = "toy"
    terms = taskyard.BatchTerms(gather_sec=0)

    def group_of(self, request):
        return "all"

    def model_of(self, request):
        return None

    def spent(self, answer):
        return {"input_tokens": 0, "output_tokens": 0}

    async def call(self, request):
        return request

    async def send(self, key, calls):
        self.calls = calls
        return SentBatch(f"toy-{len(calls)}", None)

    async def find(self, key, custom_ids, *, since):
        return None

    async def is_over(self, batch_id):
        return True

    async def cancel(self, batch_id):
        pass

    async def results(self, batch_id):
        for custom_id, request in self.calls:
            yield ProviderResult(custom_id, CallOutcome.ANSWERED, {"batched": request})
'''

ADAPTER = '''"""A program that greets on one line of its own kind."""

import sys

from taskyard.worker.adapters import Adapter, Rule

GREET = "import json, sys; print(json.dumps({'greeting': 'hello ' + sys.stdin.read()}))"
ADAPTER = Adapter(
    name="toy",
    command=(sys.executable, "-c", GREET),
    prompt="stdin",
    rules=(Rule(when={}, message={"type": "=output", "data": "greeting"}),),
)
'''

SOURCE = '''"""A source that hears one greeting from each place."""

from taskyard.core.errors import InvalidInput


class ToySource:
    def settings(self, given):
        if set(given) != {"word"}:
            raise InvalidInput("settings.word", "must be given, and nothing else")
        return {"word": str(given["word"])}

    async def listen(self, listening, places):
        for trigger in await listening.triggers():
            for place in places:
                data = {"greeting": f"{trigger.settings['word']} {place}"}
                await listening.fire(trigger, data, key=place)
                await listening.fire(trigger, data, key=place)  # heard twice
        await listening.stop.wait()


SOURCE = ToySource()
'''

ENTRY_POINTS = """[taskyard.stores]
toy = toyard.store:open_store

[taskyard.object_stores]
toy = toyard.objects:ToyObjects

[taskyard.channels]
toy = toyard.channel:CHANNEL
unfit = toyard.channel:__doc__

[taskyard.embedders]
toy = toyard.embedder:ToyEmbedder

[taskyard.providers]
toy = toyard.provider:ToyProvider
unfit = toyard.channel:__doc__

[taskyard.sources]
toy = toyard.source:SOURCE

[taskyard.adapters]
toy = toyard.adapter:ADAPTER
broken = toyard.nowhere:ADAPTER
"""

MODULES = {
    "__init__": '"""A toy."""\n',
    "store": STORE,
    "objects": OBJECTS,
    "channel": CHANNEL,
    "embedder": EMBEDDER,
    "provider": PROVIDER,
    "source": SOURCE,
    "adapter": ADAPTER,
}


def install(folder: Path, name: str = "toyard", entry_points: str = ENTRY_POINTS) -> Path:
    """Put the package into the folder, with the metadata that an installer writes."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)
    package = folder / name
    package.mkdir()
    for module, text in MODULES.items():
        (package / f"{module}.py").write_text(text)
    return folder
