"""The driver's errors: which ones can be retried, which mean a lost connection, and what a caller gets."""

from __future__ import annotations

import asyncpg

from taskyard.core.errors import StoreCorrupt, StoreFull, StoreReadOnly, StoreReplaced, StoreUnavailable, Unavailable
from taskyard.stores.postgres.connection.address import PostgresAddress

# The transaction can be tried again.
RETRYABLE = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.UniqueViolationError,
    asyncpg.LockNotAvailableError,
)
# The answer is lost: whether the server executed the statement is unknown.
ANSWER_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the server closed the connection while it was idle
    OSError,
)
# The connection is lost.
CONNECTION_LOST = (
    *ANSWER_LOST,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)


def translate_error(error: BaseException, where: PostgresAddress) -> Unavailable | None:
    """The error that a caller gets for an error of the driver; None for a bug of this program."""
    detail = f"{where.name}: {error or type(error).__name__}"
    match error:
        case asyncpg.DataCorruptedError() | asyncpg.IndexCorruptedError():
            return StoreCorrupt(detail)
        case asyncpg.UndefinedTableError():  # the yard was open, so its schema was dropped
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
