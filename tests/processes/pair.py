"""A PostgreSQL server and its synchronous standby: what one has acknowledged, the other has."""

import asyncio
import os
import shutil
import signal
from pathlib import Path

import asyncpg

from tests import servers

VERSION = 16
# What a machine's crash would cost is not what is tried: both servers are killed, and their machine lives.
SETTINGS = ("fsync = off", "full_page_writes = off", "max_connections = 200", "unix_socket_directories = ''")


class Server:
    def __init__(self, folder: Path) -> None:
        self.data = folder
        self.port = servers.free_port()

    def make(self) -> None:
        self._run("initdb", "--auth=trust", "--username=postgres", "--no-sync", "-D", str(self.data))
        self._configure(*SETTINGS)

    def copy(self, primary: "Server") -> None:
        """Begin as what the primary is now, and follow it."""
        source = f"host=127.0.0.1 port={primary.port} user=postgres application_name=standby"
        options = ("--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--create-slot", "--slot=standby")
        self._run("pg_basebackup", *options, "-D", str(self.data), "-d", source)

    def start(self) -> None:
        self._configure(f"port = {self.port}")
        self._run("pg_ctl", "-w", "-D", str(self.data), "-l", str(self.data / "log"), "start")

    async def ask(self, sql: str) -> object:
        connection = await asyncpg.connect(f"postgresql://postgres@127.0.0.1:{self.port}/postgres")
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    def kill(self) -> None:
        """With -9, and so every process of it: those that it has started would live on without it."""
        file = self.data / "postmaster.pid"
        first = int(file.read_text(encoding="utf-8").split()[0])
        os.kill(first, signal.SIGSTOP)  # so that it starts no more
        for pid in (*_children(first), first):
            os.kill(pid, signal.SIGKILL)
        file.unlink()  # it would say that there is something to be killed

    @property
    def is_up(self) -> bool:
        return (self.data / "postmaster.pid").exists()

    def _configure(self, *settings: str) -> None:
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{setting}\n" for setting in settings)

    def _run(self, command: str, *arguments: str) -> None:
        servers.run_postgres(VERSION, command, *arguments, folder=self.data.parent)


class Pair:
    def __init__(self) -> None:
        self.folder = servers.folder_of_a_server()
        self.primary = Server(self.folder / "primary")
        self.standby = Server(self.folder / "standby")

    @property
    def url(self) -> str:
        """The standby comes first: who connects has to find out which of them takes writes."""
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in (self.standby, self.primary))
        return f"postgresql://postgres@{hosts}/postgres"

    async def start(self) -> None:
        self.primary.make()
        self.primary.start()
        self.standby.copy(self.primary)
        self.standby.start()
        await self.primary.ask("alter system set synchronous_standby_names = 'standby'")
        await self.primary.ask("select pg_reload_conf()")
        # From the first commit that waits for the standby on, all do.
        await self.primary.ask("create table waits_for_the_standby ()")
        assert await self.primary.ask("select sync_state from pg_stat_replication") == "sync"

    async def take_over(self, unanswered: int) -> None:
        """The primary dies with so many commits sent and not answered, and the standby does its work from then on."""
        receiver = await self.standby.ask("select pid from pg_stat_wal_receiver")
        assert isinstance(receiver, int)
        os.kill(receiver, signal.SIGSTOP)
        waiting = f"select count(*) >= {unanswered} from pg_stat_activity where wait_event = 'SyncRep'"
        async with asyncio.timeout(30):
            while not await self.primary.ask(waiting):
                pass
        self.primary.kill()
        os.kill(receiver, signal.SIGCONT)  # it finds what was sent to it
        assert await self.standby.ask("select pg_promote()")

    def end(self) -> None:
        for server in (self.primary, self.standby):
            if server.is_up:
                server.kill()
        shutil.rmtree(self.folder)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]
