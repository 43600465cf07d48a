"""Where contents are: the same promises of a folder and of a bucket on a real S3 server."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import obstore
import pytest

from taskyard.core.errors import InvalidInput, StoreUnavailable, TooLarge
from taskyard.outbound.object_store import AT_ONCE, ObjectMissing, Objects, checked_place
from tests.object_servers import KEYS, Bucket, bucket

MOST = 1 << 30


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    if request.param == "file":
        return Bucket((tmp_path / "objects").as_uri(), tmp_path / "objects")
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return bucket(uuid4().hex)


everywhere = pytest.mark.parametrize("place", ["file", "s3"], indirect=True)


async def coming(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def all_of(content: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in content])


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@everywhere
async def test_what_was_written_is_read(place: Bucket):
    objects = Objects(place.url)

    written = await objects.write("ab/key", coming(b"some ", b"content"), most=MOST)

    assert written == (12, sha256(b"some content").hexdigest())
    assert await all_of(objects.read("ab/key")) == b"some content"


@pytest.mark.parametrize("place", ["file"], indirect=True)  # rclone answers to a range as if it were the whole
async def test_a_part_is_read_alone(place: Bucket):
    objects = Objects(place.url)
    await objects.write("key", coming(b"some content"), most=MOST)

    assert await all_of(objects.read("key", 5, 9)) == b"cont"
    assert await all_of(objects.read("key", 5)) == b"content"


@everywhere
async def test_what_is_larger_than_a_part_comes_whole(place: Bucket):
    objects, piece = Objects(place.url), os.urandom(1 << 20)

    written = await objects.write("large", coming(*[piece] * 20), most=MOST)

    assert written.size == 20 << 20
    assert sha256(await all_of(objects.read("large"))).hexdigest() == written.sha256


@everywhere
async def test_nothing_is_content_too(place: Bucket):
    objects = Objects(place.url)

    assert (await objects.write("empty", coming(), most=MOST)).size == 0
    assert await all_of(objects.read("empty")) == b""


@everywhere
async def test_more_than_may_be_written_is_refused_while_it_comes(place: Bucket):
    objects, sent = Objects(place.url), 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b"x" * 1_000_000

    with pytest.raises(TooLarge):
        await objects.write("endless", endless(), most=10_000_000)

    assert sent == 11
    with pytest.raises(ObjectMissing):
        await all_of(objects.read("endless"))


@everywhere
async def test_what_breaks_off_leaves_nothing(place: Bucket):
    objects = Objects(place.url)

    async def broken() -> AsyncIterator[bytes]:
        yield b"x" * 20_000_000
        raise InvalidInput("data", "broke off")

    with pytest.raises(InvalidInput):
        await objects.write("broken", broken(), most=MOST)

    with pytest.raises(ObjectMissing):
        await all_of(objects.read("broken"))
    assert files_in(place.folder) == []


@everywhere
async def test_a_write_that_is_cancelled_leaves_nothing_and_asks_for_no_more(place: Bucket):
    objects, waiting, given_up = Objects(place.url), asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"x" * 20_000_000
        waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()

    writing = asyncio.create_task(objects.write("slow", slow(), most=MOST))
    await waiting.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing

    async with asyncio.timeout(30):
        await given_up.wait()
    with pytest.raises(ObjectMissing):
        await all_of(objects.read("slow"))
    assert files_in(place.folder) == []


async def test_slow_writers_keep_nobody_waiting(tmp_path: Path):
    objects, go_on = Objects(tmp_path.as_uri()), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"content"
        await go_on.wait()

    slow_ones = [asyncio.create_task(objects.write(f"slow {number}", slow(), most=MOST)) for number in range(100)]
    async with asyncio.timeout(20):
        await objects.write("quick", coming(b"content"), most=MOST)
        assert await all_of(objects.read("quick")) == b"content"
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("taskyard")]
    go_on.set()

    assert len(threads) <= AT_ONCE  # of one pool: who waits for the next piece holds none
    assert {written.size for written in await asyncio.gather(*slow_ones)} == {7}


@everywhere
async def test_nothing_is_answered_from_a_thread_that_might_outlive_the_interpreter(
    place: Bucket, monkeypatch: pytest.MonkeyPatch
):
    objects = Objects(place.url)
    for name in ("put_async", "get_async", "delete_async"):
        monkeypatch.delattr(obstore, name)

    await objects.write("key", coming(b"content"), most=MOST)
    assert await all_of(objects.read("key")) == b"content"
    await objects.remove("key")


@everywhere
async def test_what_is_removed_is_gone_and_may_be_removed_again(place: Bucket):
    objects = Objects(place.url)
    await objects.write("key", coming(b"content"), most=MOST)

    await objects.remove("key")
    await objects.remove("key")

    with pytest.raises(ObjectMissing):
        await all_of(objects.read("key"))


async def test_a_place_that_cannot_be_written_to_says_so(tmp_path: Path):
    (tmp_path / "objects").mkdir()
    objects = Objects((tmp_path / "objects").as_uri())
    (tmp_path / "objects" / "ab").write_text("a file where a folder is needed")

    with pytest.raises(StoreUnavailable) as refused:
        await objects.write("ab/key", coming(b"content"), most=MOST)

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/path",
        "/srv/artifacts",
        "file://srv/artifacts",
        "file:///srv?region=x",
        "s3://key:secret@bucket/path",
        "s3://bucket?secret_access_key=oops",
        "s3://bucket?aws_access_key_id=oops",
        "",
    ],
)
def test_a_place_that_is_none_or_carries_a_secret_is_refused_without_repeating_it(url: str):
    with pytest.raises(InvalidInput) as refused:
        checked_place(url)

    assert "oops" not in str(refused.value)
    assert "key:secret" not in str(refused.value)


class Blocking:
    """Calls of the library that do not come back until they are let go."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self._go_on = threading.Event()

    def __call__(self, *_: object) -> None:
        self.begun.release()
        assert self._go_on.wait(30)

    def let_go(self) -> None:
        self._go_on.set()


async def test_whoever_is_cancelled_waits_for_the_call_that_cannot_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    objects, delete = Objects(tmp_path.as_uri()), Blocking()
    monkeypatch.setattr(obstore, "delete", delete)
    removing = asyncio.create_task(objects.remove("key"))
    await asyncio.to_thread(delete.begun.acquire)
    removing.cancel()
    for _ in range(100):
        await asyncio.sleep(0)

    assert not removing.done()
    delete.let_go()
    with pytest.raises(asyncio.CancelledError):
        await removing


async def test_calls_of_the_library_share_a_bounded_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    others = set(threading.enumerate())  # other tests of this process have object stores too
    objects, delete = Objects(tmp_path.as_uri()), Blocking()
    monkeypatch.setattr(obstore, "delete", delete)
    removing = [asyncio.create_task(objects.remove(f"key {number}")) for number in range(2 * AT_ONCE)]
    for _ in range(AT_ONCE):
        await asyncio.to_thread(delete.begun.acquire)

    begun = set(threading.enumerate()) - others
    assert len([each for each in begun if each.name.startswith("taskyard objects")]) == AT_ONCE
    delete.let_go()
    await asyncio.gather(*removing)


async def test_a_bucket_learns_that_a_write_broke_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Or it would keep the parts that it has, which nobody sees and somebody pays for."""
    open_writer, ends = obstore.open_writer, list[type[BaseException] | None]()

    class Watched:
        def __init__(self, *given: Any, **options: Any) -> None:
            self._writer: Any = open_writer(*given, **options)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._writer, name)

        def __exit__(self, kind: type[BaseException] | None, *more: Any) -> Any:
            ends.append(kind)
            return self._writer.__exit__(kind, *more)

    monkeypatch.setattr(obstore, "open_writer", Watched)

    with pytest.raises(TooLarge):
        await Objects(tmp_path.as_uri()).write("large", coming(b"some content"), most=1)

    assert ends == [TooLarge]
