"""What the driver's errors mean: to the next try of a transaction, and to a caller."""

from __future__ import annotations

import asyncpg

from taskyard.core.errors import StoreCorrupt, StoreFull, StoreReadOnly, StoreReplaced, StoreUnavailable, Unavailable
from taskyard.stores.postgres.connection.address import Address

# Errors after which the same transaction may do better.
CONTENDED = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.UniqueViolationError,
    asyncpg.LockNotAvailableError,
)
# Errors after which it is not known what the server has done: it has not said.
UNHEARD = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the server said good-bye while nobody asked it anything
    OSError,
)
# Errors that say that the connection is of no use any more.
GONE = (
    *UNHEARD,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)


def refusal_of(error: BaseException, where: Address) -> Unavailable | None:
    """What an error of the driver means to a caller; None where it is a mistake of this program."""
    detail = f"{where.name}: {error or type(error).__name__}"
    match error:
        case asyncpg.DataCorruptedError() | asyncpg.IndexCorruptedError():
            return StoreCorrupt(detail)
        case asyncpg.UndefinedTableError():  # of a yard that was open: its schema was dropped
            return StoreReplaced(where.name)
        case asyncpg.DiskFullError():
            return StoreFull(detail)
        case asyncpg.ReadOnlySQLTransactionError():
            return StoreReadOnly(detail)
        case asyncpg.InterfaceError() if "connection" not in str(error):
            return None
        case asyncpg.InsufficientResourcesError() | asyncpg.OperatorInterventionError() | asyncpg.PostgresIOError():
            return StoreUnavailable(detail)
        case asyncpg.IdleInTransactionSessionTimeoutError() | asyncpg.InternalClientError():
            return StoreUnavailable(detail)
        case asyncpg.PostgresConnectionError() | asyncpg.InterfaceError() | OSError() | TimeoutError():
            return StoreUnavailable(detail)
        case _:
            return None
