"""Composition root: the only module that names a concrete store."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from taskyard import plugins, sync
from taskyard import yard as service
from taskyard.core.errors import InvalidInput
from taskyard.core.policy import preset as named_preset
from taskyard.features.approvals.answer_links import public_url as checked_public_url
from taskyard.features.memory.embedders import open_embedder
from taskyard.features.retention.rules import checked_days
from taskyard.features.tokens.sign_in_settings import SignInSettings
from taskyard.host import NEEDS_THE_STORE, Host, LocalHost
from taskyard.ledger.clock import ManualClock, SystemClock
from taskyard.ledger.options import Options
from taskyard.outbound.addresses import allowed
from taskyard.outbound.object_store import checked_place
from taskyard.portal import Portal, Waits
from taskyard.stores import store_url
from taskyard.stores.contract import Clock, OpensStore, Store
from taskyard.stores.memory import MemoryStore
from taskyard.stores.shared.timeouts import CALL_TIMEOUT, LEAST_CALL_TIMEOUT, MOST_CALL_TIMEOUT
from taskyard.stores.sqlite import SqliteStore
from taskyard.worker.handlers import Agent
from taskyard.worker.process.drain import drain
from taskyard.worker.process.runner import GRACE, run_all
from taskyard.worker.triggers import file_watcher, sources

if TYPE_CHECKING:
    from taskyard.outbound.oidc_provider import OidcProvider
    from taskyard.server.mounts.mounted import Mount

DEFAULT_URL = "sqlite:///taskyard.db"
_NO = frozenset({"0", "false", "no", "off"})


class Yard(service.Yard):
    """A durable queue of work for agents, and the agents that work on it.

    `async with taskyard.connect() as yard: ...`. While open it sweeps every second (leases, delays, housekeeping).
    """

    manual_clock: ManualClock | None = None

    async def work(self, *agents: Agent, grace_sec: float = GRACE, runtime: str | None = None) -> None:
        """Run these agents until the process is asked to stop.

        Sessions are resumed by the same runtime. Without a name, it is that of this machine and folder (`.taskyard/`).
        """
        await run_all(self, agents, grace_sec=grace_sec, runtime=runtime)

    async def drain(self, *agents: Agent) -> int:
        """Run these agents here until nothing is left for them, and say how many attempts that took.

        On a manual clock, delays and sleeps pass at once.
        """
        return await drain(self, agents, clock=self.manual_clock)


class SyncYard(sync.SyncYard):
    """A yard whose calls wait, and the agents that work on it."""

    def __init__(self, portal: Portal, yard: Yard) -> None:
        super().__init__(portal, yard)
        self.drain = Waits(portal, yard.result)(yard.drain)


def connect(
    url: str | None = None,
    *,
    workspace: str | None = None,
    preset: str | None = None,
    retention_days: float | None = None,
    sweeps: bool = True,
    clock: Clock | None = None,
    migrate: bool | None = None,
    token: str | None = None,
    transcripts: str | Path | None = None,
    artifacts: str | None = None,
    max_artifact_bytes: int = 1 << 30,
    embedder: str | None = None,
    allowed_targets: Iterable[str] | None = None,
    public_url: str | None = None,
    call_timeout_sec: float | None = None,
) -> Yard:
    """A yard on the store that the URL names: `sqlite:///file.db`, `postgresql://host/database`,
    `redis://host` or `memory://`, or with a scheme that an installed package adds (entry points `taskyard.stores`).

    `http://host:port` or `https://host`, or several of them with commas between, is a yard that others serve. It is
    shown the `token`, or `TASKYARD_TOKEN`, which also says the workspace; the other options are the server's.
    Without a URL, `TASKYARD_URL` decides, then the file that `TASKYARD_URL_FILE` names (so that no password is in a
    command line or an environment), then the default, a SQLite file in the working directory. Opening the yard
    brings an older schema to this release, unless `migrate` or `TASKYARD_MIGRATE` says no: then it is refused, and
    `taskyard migrate apply` is a step of its own. So it is where the releases at work could not go on after it
    (`MigrationNeedsStop`). `transcripts`, or `TASKYARD_TRANSCRIPTS`, is the directory of what
    background subagents wrote: by default one beside the SQLite file, or in the working directory.

    The `preset` is stored with the workspace: an unused one takes the first that is asked for, and a yard that asks for
    another than the stored one is refused. Without it, whatever is stored holds (standard, where nothing is).

    `retention_days` is how long finished work is kept. It is stored with the yard, and the value that was given last
    counts for every process, whichever sweeps; 7 where none was ever given.

    `artifacts`, or `TASKYARD_ARTIFACTS`, is where files are kept: `file:///directory`, `s3://bucket`, `gs://bucket` or
    `az://container`; by default a directory beside the SQLite file. `allowed_targets`, or `TASKYARD_ALLOWED_TARGETS`
    with commas between, are hosts and networks that notifications may go to though they are not public. `public_url`,
    or `TASKYARD_PUBLIC_URL`, is by what people reach the server: with it, notifications of questions have a link.

    `embedder`, or `TASKYARD_EMBEDDER`, turns finished work into vectors, so that similar work is found: `hash:`, which
    needs nothing, `wordllama:`, `openai+https://HOST/v1?model=NAME`, or one of an installed package. Without it
    nothing is embedded.

    `call_timeout_sec`, or `TASKYARD_CALL_TIMEOUT_SEC`, is how long a call waits for PostgreSQL, Redis or a server that
    does not answer, or for another process's lock on a SQLite file: 10 by default.
    """
    url = store_url.check_url(url or _url_of_environment() or DEFAULT_URL)
    if urlsplit(url).scheme in ("http", "https"):
        token = token or os.environ.get("TASKYARD_TOKEN") or None
        return Yard(_remote_host(url, token, workspace, preset, _call_timeout(call_timeout_sec)))
    options = Options(
        workspace=workspace or "default",
        preset=None if preset is None else named_preset(preset).name,
        retention_days=None if retention_days is None else checked_days(retention_days),
        sweeps=sweeps,
        transcripts=Path(transcripts or os.environ.get("TASKYARD_TRANSCRIPTS") or _beside_the_file(url, "transcripts")),
        artifacts=_place_of_artifacts(url, artifacts or os.environ.get("TASKYARD_ARTIFACTS")),
        max_artifact_bytes=max_artifact_bytes,
        embedder=_embedder(embedder),
        allowed_targets=_targets(allowed_targets),
        public_url=_public_url(public_url),
        call_timeout=_call_timeout(call_timeout_sec),
    )
    migrates = os.environ.get("TASKYARD_MIGRATE", "").lower() not in _NO if migrate is None else migrate
    store = _store(url, clock, migrates=migrates, call_timeout=options.call_timeout)
    yard = Yard(LocalHost(store, options))
    yard.manual_clock = clock if isinstance(clock, ManualClock) else None
    return yard


def _public_url(given: str | None) -> str | None:
    url = given or os.environ.get("TASKYARD_PUBLIC_URL")
    return checked_public_url(url) if url else None


async def serve(
    yard: service.Yard,
    *,
    host: str = "127.0.0.1",
    port: int = 8420,
    allowed_hosts: Iterable[str] = (),
    watch: Iterable[Path] = (),
    issuer: str | None = None,
    sign_in: SignInSettings | None = None,
    on_up: Callable[[str, bool], object] | None = None,
) -> None:
    """Serve an open yard over HTTP until the process is asked to stop. `on_up` hears the address, and if it is open.

    Files in the folders to `watch` fire the triggers that wait for them. `issuer` is the URL of the authorization
    server that hands out this yard's tokens: clients of MCP find it by that. `sign_in` is how people sign in besides
    with a token: at an OpenID provider, or by the word of a trusted proxy.
    """
    if not isinstance(yard.host, LocalHost):
        raise InvalidInput("url", NEEDS_THE_STORE)
    try:
        from taskyard.server.server import serve_until_stopped  # noqa: PLC0415 - the server is an extra
    except ModuleNotFoundError as missing:
        if missing.name not in ("fastapi", "uvicorn", "pydantic"):
            raise
        raise InvalidInput("serve", "needs the server's libraries: pip install 'taskyard[server]'") from missing
    ways = sign_in or SignInSettings()
    oidc = _oidc_provider(ways, yard)
    stop = asyncio.Event()
    watcher = file_watcher.Watcher(yard, watch, stop)
    watches = asyncio.create_task(watcher.run(), name="taskyard watcher")

    def problems() -> list[str]:
        return [] if watcher.problem is None else ["files: a folder is not being watched"]

    try:
        await serve_until_stopped(
            yard,
            host=host,
            port=port,
            allowed_hosts=allowed_hosts,
            on_up=on_up,
            problems=problems,
            mcp=mcp_mount(),
            issuer=issuer,
            a2a=a2a_mount(),
            sign_in=ways,
            oidc=oidc,
        )
    finally:
        stop.set()
        await watches


def _oidc_provider(ways: SignInSettings, yard: service.Yard) -> OidcProvider | None:
    if ways.oidc is None:
        return None
    try:
        from taskyard.outbound import oidc_provider  # noqa: PLC0415 - its libraries are an extra
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("joserfc", "httpcore"):
            raise
        raise InvalidInput("oidc_issuer", "needs the libraries for it: pip install 'taskyard[oidc]'") from missing
    return oidc_provider.OidcProvider(ways.oidc, allowed(yard.local.ledger.options.allowed_targets))


def mcp_mount() -> Mount | None:
    """What answers at /mcp of a server; None without the library of the protocol."""
    return _on_demand(_load_mcp_mount, "mcp", "httptools")


def _load_mcp_mount() -> Callable[[], Mount]:
    from taskyard.mcp.streamable_http import McpMount  # noqa: PLC0415 - the MCP server is an extra

    return McpMount


def a2a_mount() -> Mount | None:
    """What answers at /a2a of a server; None without the library of the protocol."""
    return _on_demand(_load_a2a_mount, "a2a", "google.protobuf", "httptools", "httpx", "jsonrpc", "sse_starlette")


def _load_a2a_mount() -> Callable[[], Mount]:
    from taskyard.a2a.a2a_mount import A2aMount  # noqa: PLC0415 - the A2A server is an extra

    return A2aMount


def _on_demand(load: Callable[[], Callable[[], Mount]], *libraries: str) -> Mount | None:
    """What is loaded for its first caller; None where a library is missing, which is found without loading it."""
    from taskyard.server.mounts.mount_on_demand import MountOnDemand  # noqa: PLC0415 - the server is an extra

    try:
        has_all = all(find_spec(each) is not None for each in libraries)
    except ModuleNotFoundError:  # a package around one
        has_all = False
    return MountOnDemand(load) if has_all else None


async def serve_mcp(yard: service.Yard, *, role: str = "all", agent: str | None = None) -> None:
    """Serve an open yard to one MCP client over standard input and output, until the client closes its end.

    `role` says which tools are shown: producer, worker, operator or all. `agent` is the id that claims tasks.
    """
    try:
        from taskyard.mcp import desk, stdio  # noqa: PLC0415 - the MCP server is an extra
    except ModuleNotFoundError as missing:
        if missing.name not in ("mcp", "pydantic"):
            raise
        raise InvalidInput("mcp", "needs the library of the protocol: pip install 'taskyard[mcp]'") from missing
    await stdio.serve_stdio(yard, await yard.host.role(), toolset=desk.toolset(role), agent=agent)


@asynccontextmanager
async def served(yard: service.Yard, *, port: int = 0) -> AsyncGenerator[str | None]:
    """Serve an open yard on loopback while the block runs: the address, or None without the server's libraries."""
    try:
        from taskyard.server import server as serving  # noqa: PLC0415 - the server is an extra
    except ModuleNotFoundError as missing:
        if missing.name not in ("fastapi", "uvicorn", "pydantic"):
            raise
        yield None
        return
    async with serving.served(yard, port=port, mcp=mcp_mount(), a2a=a2a_mount()) as server:
        yield f"http://127.0.0.1:{server.port}"


async def listen(yard: service.Yard, source: str, places: Iterable[str], stop: asyncio.Event) -> None:
    """Let a source fire the triggers that wait for it, until asked to stop: `files`, or one of an installed package.

    `places` are what this process may listen to, in the words of the source; for files they are folders.
    """
    await sources.listen(yard, source, list(places), stop)


async def watch_files(
    yard: service.Yard,
    folders: Iterable[Path],
    stop: asyncio.Event,
    *,
    on_up: Callable[[Iterable[Path]], object] | None = None,
) -> None:
    """Watch these folders for the triggers that wait for files in them, until asked to stop. `on_up` hears of them."""
    roots = file_watcher.checked(folders)
    if on_up is not None:
        on_up(roots)
    await file_watcher.watch(yard, roots, stop)


def connect_sync(url: str | None = None, **options: Any) -> SyncYard:
    """The same for callers without an event loop: `with taskyard.connect_sync() as yard: yard.enqueue("code")`."""
    portal = Portal()
    try:
        return SyncYard(portal, portal.call(_connected(url, options)))
    except BaseException:
        portal.close()
        raise


async def _connected(url: str | None, options: Mapping[str, Any]) -> Yard:
    """A yard belongs to the loop it was made in."""
    return connect(url, **options)


def _url_of_environment() -> str | None:
    named = os.environ.get("TASKYARD_URL_FILE")
    return os.environ.get("TASKYARD_URL") or (url_in(Path(named)) if named else None)


def url_in(file: Path) -> str:
    """The URL of the yard that a file holds."""
    return line_in(file, "url_file", "the URL of the yard")


def line_in(file: Path, path: str, what: str) -> str:
    """The one line that a file holds. It may be a secret, so no error repeats it."""
    try:
        lines = file.read_text(encoding="utf-8").strip().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidInput(path, f"must name a file with {what}: {why}") from None
    if len(lines) != 1:
        raise InvalidInput(path, f"must name a file with {what}, and nothing else in it")
    return lines[0].strip()


def missing_file(url: str) -> Path | None:
    """The SQLite file that the URL names, where opening the yard would make it."""
    if urlsplit(store_url.check_url(url)).scheme != "sqlite":
        return None
    file = _sqlite_file(url).absolute()
    return None if file.exists() else file


def _sqlite_file(url: str) -> Path:
    """`sqlite:///name` is relative to the working directory, `sqlite:////name` is absolute."""
    return Path(unquote(urlsplit(url).path.removeprefix("/")))


def _beside_the_file(url: str, what: str) -> Path:
    folder = _sqlite_file(url).parent if urlsplit(url).scheme == "sqlite" else Path()
    return folder / f"taskyard-{what}"


def _place_of_artifacts(url: str, given: str | None) -> str | None:
    """A store that many machines share has no place that all of them would find, until somebody names one."""
    if given is not None:
        return checked_place(given)
    match urlsplit(url).scheme:
        case "sqlite":
            return _beside_the_file(url, "artifacts").absolute().as_uri()
        case "memory":
            return "memory://"
        case _:
            return None


def _embedder(given: str | None) -> str | None:
    url = given or os.environ.get("TASKYARD_EMBEDDER") or None
    if url is not None:
        open_embedder(url)  # refused now, and not when something is to be embedded
    return url


def _targets(given: Iterable[str] | None) -> tuple[str, ...]:
    listed = os.environ.get("TASKYARD_ALLOWED_TARGETS", "").split(",") if given is None else given
    entries = tuple(entry.strip() for entry in listed if entry.strip())
    allowed(entries)  # refused now, and not when something is to be sent
    return entries


def _call_timeout(given: float | None) -> float:
    given_sec = os.environ.get("TASKYARD_CALL_TIMEOUT_SEC") if given is None else given
    try:
        seconds = CALL_TIMEOUT if given_sec is None else float(given_sec)
    except ValueError:
        seconds = 0.0
    if not LEAST_CALL_TIMEOUT <= seconds <= MOST_CALL_TIMEOUT:
        raise InvalidInput("call_timeout_sec", f"must be from {LEAST_CALL_TIMEOUT:g} to {MOST_CALL_TIMEOUT:g}")
    return seconds


def _store(url: str, given: Clock | None, *, migrates: bool, call_timeout: float) -> Store:
    scheme = urlsplit(url).scheme
    opens = _STORES.get(scheme) or _installed_store(scheme)
    return opens(url, clock=given, migrates=migrates, call_timeout=call_timeout)


def _installed_store(scheme: str) -> OpensStore:
    found = plugins.load(plugins.STORES, scheme, "url")
    if found is None:
        installed = "".join(f", {name}://" for name in sorted(plugins.names(plugins.STORES)))
        known = f"sqlite:///, postgresql://, redis://, memory://{installed}"
        raise InvalidInput("url", f"must begin with {known}, http:// or https://")
    if not isinstance(found, OpensStore):
        raise plugins.unfit(plugins.STORES, scheme, "url", "function that opens a store")
    return found


def _remote_host(url: str, token: str | None, workspace: str | None, preset: str | None, call_timeout: float) -> Host:
    try:
        from taskyard.client.host import RemoteHost  # noqa: PLC0415 - most yards are local
        from taskyard.client.transport.connection import Connection  # noqa: PLC0415 - its HTTP library is an extra
    except ModuleNotFoundError as missing:
        if missing.name != "httptools":
            raise
        raise InvalidInput("url", "needs the HTTP client: pip install 'taskyard[client]'") from missing
    connection = Connection(url, token, patience=call_timeout)
    return RemoteHost(connection, workspace, None if preset is None else named_preset(preset).name)


def _memory_store(_: str, *, clock: Clock | None, migrates: bool, call_timeout: float) -> Store:  # noqa: ARG001
    return MemoryStore(clock=clock or SystemClock())


def _sqlite_store(url: str, *, clock: Clock | None, migrates: bool, call_timeout: float) -> Store:
    parts = urlsplit(url)
    if parts.netloc or not parts.path.removeprefix("/"):
        raise InvalidInput("url", "must be sqlite:///FILE or, for an absolute path, sqlite:////DIRECTORY/FILE")
    return SqliteStore(_sqlite_file(url), clock=clock or SystemClock(), migrates=migrates, call_timeout=call_timeout)


def _postgres_store(url: str, *, clock: Clock | None, migrates: bool, call_timeout: float) -> Store:
    """On the database's own clock, where none was given: machines that share a yard need not agree on the time."""
    try:
        from taskyard.stores.postgres import PostgresStore  # noqa: PLC0415 - its driver is an extra
    except ModuleNotFoundError as missing:
        if missing.name != "asyncpg":
            raise
        raise InvalidInput("url", "needs the PostgreSQL driver: pip install 'taskyard[postgres]'") from missing
    return PostgresStore(url, clock=clock, migrates=migrates, call_timeout=call_timeout)


def _redis_store(url: str, *, clock: Clock | None, migrates: bool, call_timeout: float) -> Store:
    """On the server's own clock, where none was given, like PostgreSQL."""
    try:
        from taskyard.stores.redis import RedisStore  # noqa: PLC0415 - its driver is an extra
    except ModuleNotFoundError as missing:
        if missing.name != "hiredis":
            raise
        raise InvalidInput("url", "needs the Redis driver: pip install 'taskyard[redis]'") from missing
    return RedisStore(url, clock=clock, migrates=migrates, call_timeout=call_timeout)


# Looked at before what is installed. Drivers that are extras are imported when a URL asks for them.
_STORES: Mapping[str, OpensStore] = {
    "memory": _memory_store,
    "sqlite": _sqlite_store,
    **dict.fromkeys(("postgresql", "postgres"), _postgres_store),
    **dict.fromkeys(("redis", "rediss", "redis+cluster", "rediss+cluster"), _redis_store),
    **dict.fromkeys(("redis+sentinel", "rediss+sentinel"), _redis_store),
}
