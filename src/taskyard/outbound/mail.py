"""Sending one e-mail over SMTP, to an address that was checked. A password is sent only over TLS."""

from __future__ import annotations

import asyncio
import base64
import ssl
from contextlib import suppress
from email.message import EmailMessage
from email.utils import formatdate

from taskyard.outbound.addresses import AllowedTargets
from taskyard.outbound.channels import Mail
from taskyard.outbound.safe_connect import Lookup, Undelivered, looked_up, reachable

ANSWERED_WITHIN = 30.0  # seconds, for the whole conversation
MOST_LINES = 100  # of one answer


class SmtpSession:
    """Commands and their answers, over a connection that may be upgraded to TLS."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.offers: frozenset[str] = frozenset()

    async def say(self, line: str, *expected: int) -> None:
        self.writer.write(line.encode() + b"\r\n")
        await self.writer.drain()
        await self.answer(*expected)

    async def answer(self, *expected: int) -> list[str]:
        """The lines of the next answer. What the server wrote is not repeated: it may name an account."""
        lines = [await self._line()]
        while lines[-1][3:4] == "-" and len(lines) < MOST_LINES:
            lines.append(await self._line())
        code = lines[-1][:3]
        if code not in map(str, expected):
            shown = code if code.isascii() and code.isdigit() else "no status"
            raise Undelivered(f"its mail server answered with {shown}")
        return [line[4:] for line in lines]

    async def _line(self) -> str:
        return (await self._reader.readline()).decode("ascii", "replace").rstrip()

    async def greet(self) -> None:
        self.writer.write(b"EHLO taskyard\r\n")
        await self.writer.drain()
        self.offers = frozenset(line.upper() for line in await self.answer(250))


async def send(
    mail: Mail, *, permitted: AllowedTargets, lookup: Lookup = looked_up, trusted: ssl.SSLContext | None = None
) -> None:
    """Hand the mail to its server once; `Undelivered` where the server did not take it."""
    found = await reachable(mail.host, mail.port, permitted, lookup)
    context = trusted or ssl.create_default_context()
    try:
        async with asyncio.timeout(ANSWERED_WITHIN):
            reader, writer = await _connected(found, mail, context)
            try:
                await _converse(SmtpSession(reader, writer), mail, context)
            finally:
                writer.transport.abort()  # the last answer was read: nothing is owed to the server
                with suppress(OSError):
                    await writer.wait_closed()
    except (OSError, TimeoutError, ValueError) as error:
        raise Undelivered(f"its mail server did not answer ({type(error).__name__})") from None


async def _connected(
    found: list[str], mail: Mail, context: ssl.SSLContext
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first of the checked addresses that answers. The certificate must be of the name."""
    tls, name = (context, mail.host) if mail.is_tls else (None, None)
    for address in found[:-1]:
        try:
            return await asyncio.open_connection(address, mail.port, ssl=tls, server_hostname=name)
        except OSError:
            continue  # it has other addresses
    return await asyncio.open_connection(found[-1], mail.port, ssl=tls, server_hostname=name)


async def _converse(server: SmtpSession, mail: Mail, context: ssl.SSLContext) -> None:
    await server.answer(220)
    await server.greet()
    is_secure = mail.is_tls
    if not is_secure and "STARTTLS" in server.offers:
        await server.say("STARTTLS", 220)
        await server.writer.start_tls(context, server_hostname=mail.host)
        await server.greet()
        is_secure = True
    if mail.user is not None:
        if not is_secure:
            raise Undelivered("its mail server offers no TLS, and a password is not sent without")
        pair = base64.b64encode(f"\0{mail.user}\0{mail.password or ''}".encode()).decode()
        await server.say(f"AUTH PLAIN {pair}", 235)
    await server.say(f"MAIL FROM:<{mail.sender}>", 250)
    for recipient in mail.recipients:
        await server.say(f"RCPT TO:<{recipient}>", 250, 251)
    await server.say("DATA", 354)
    await server.say(_written(mail), 250)
    await server.say("QUIT", 221)


def _written(mail: Mail) -> str:
    """The mail with its headers, ending in the line that ends DATA."""
    written = EmailMessage()
    written["From"] = mail.sender
    written["To"] = ", ".join(mail.recipients)
    written["Subject"] = mail.title
    written["Date"] = formatdate()
    written.set_content(mail.text, cte="base64")
    return written.as_bytes().decode("ascii").replace("\r\n", "\n").replace("\n", "\r\n") + "."
