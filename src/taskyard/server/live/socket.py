"""Events over a WebSocket: one conversation with one caller, about as many subscriptions as it asks for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from taskyard.api import calls, messages, request_models, requests
from taskyard.api.messages import MESSAGES, PROTOCOL, TOKEN_PROTOCOL, Closing, Message
from taskyard.core.errors import Forbidden, InvalidInput, NotFound, TaskyardError, TooManyListeners, Unauthorized
from taskyard.core.json_value import Json, compact, decode
from taskyard.features.tasks.multica import task_of
from taskyard.server import problems
from taskyard.server.access.auth import (
    Caller,
    Serving,
    address_of,
    check_origin,
    count_call,
    identified,
    shown_token,
)
from taskyard.server.live.connections import Live
from taskyard.server.live.event_buffer import Interest
from taskyard.server.live.feed import Subscription
from taskyard.server.live.subscriptions import must_be_theirs

logger = logging.getLogger("taskyard.server")
MOST_SUBSCRIPTIONS = 100  # of one connection
DEEPEST = 4  # messages are flat
INTRODUCING = 10.0  # seconds that a caller gets to show its token
LEAVING = 5.0  # seconds that a reader gets to take what is on its way, and why it is sent home

Handler = Callable[["Conversation", Any], Awaitable[None]]
HANDLERS: dict[str, Handler] = {}


def answers(message: Message) -> Callable[[Handler], Handler]:
    """Answer a message of the table with this."""

    def bind(handler: Handler) -> Handler:
        HANDLERS[message.action] = handler
        return handler

    return bind


async def converse(socket: WebSocket) -> None:
    """Let a caller in and talk to it until one of the two has enough. Who may not come in is refused before."""
    serving: Serving = socket.app.state.serving
    conversation = Conversation(socket, serving)
    try:
        check_origin(socket, serving)
        await conversation.begin(_shown(socket))
        await socket.accept(subprotocol=PROTOCOL if PROTOCOL in socket.scope["subprotocols"] else None)
        await conversation.run()
    except TaskyardError as error:
        await socket.send_denial_response(problems.of_error(error))
    finally:
        conversation.live.dismiss(conversation)


class Conversation:
    """What the server and one caller say to each other."""

    __slots__ = ("_caller", "_patience", "_pumps", "_serving", "_socket", "_why", "live", "subscriptions", "token")

    def __init__(self, socket: WebSocket, serving: Serving) -> None:
        self.token: str | None = None
        self.subscriptions: dict[str, Subscription] = {}
        self.live: Live = socket.app.state.live
        self._socket = socket
        self._serving = serving
        self._caller: Caller | None = None
        self._pumps: dict[str, asyncio.Task[None]] = {}
        self._patience = asyncio.timeout(INTRODUCING)
        self._why: tuple[Closing, str] | None = None

    @property
    def caller(self) -> Caller:
        if self._caller is None:
            raise Unauthorized
        return self._caller

    async def begin(self, shown: str | None) -> None:
        """With a token, or without one where none is needed; otherwise it may still be shown in the first message."""
        try:
            await self.meet(shown or "")
        except Unauthorized:
            if shown is not None:
                raise
            self.live.admit(self, self._serving.most_strangers)

    @property
    def counted_as(self) -> str | None:
        return f"at {address_of(self._socket)}" if self._caller is None else self._caller.token_id

    async def meet(self, token: str) -> None:
        """Know from now on who this is."""
        caller = await identified(self._socket, self._serving, token)
        if not calls.SOCKET.allows(caller.token.role):
            raise Forbidden(f"it has the role {caller.token.role.value}")
        self.live.dismiss(self)  # as whoever it was counted before
        self._caller, self.token = caller, token
        self.live.admit(self, self._serving.most_listeners)

    async def run(self) -> None:
        try:
            async with self._patience:
                await self._listen()
        except TimeoutError:
            if not self._patience.expired():
                raise
        except WebSocketDisconnect:
            pass  # it went while a message was sent to it
        finally:
            self._why = self._why or (Closing.NO_TOKEN, "no token was shown")
            self.live.dismiss(self)
            for name in list(self._pumps):
                await self.stop(name)
        await self._say_goodbye(*self._why)

    @property
    def is_stuck(self) -> bool:
        return any(each.is_stuck for each in self.subscriptions.values())

    def end(self, why: Closing) -> None:
        self._leave(why, _REASONS[why])

    def stay(self) -> None:
        """It has shown a token, and may be silent now."""
        if self._why is None:
            self._patience.reschedule(None)

    async def say(self, document: Json) -> None:
        await self._socket.send_text(compact(document))

    def follow(self, name: str, subscription: Subscription) -> None:
        self.subscriptions[name] = subscription
        self._pumps[name] = asyncio.create_task(self._pump(name, subscription))

    async def stop(self, name: str) -> None:
        if pump := self._pumps.get(name):
            pump.cancel()
            await asyncio.wait([pump])

    def cut_off(self, subscription: Subscription, why: Closing) -> None:
        self._leave(why, f"{_REASONS[why]} after {subscription.resume_after}")

    async def _listen(self) -> None:
        if self._caller is not None:
            self.stay()
        while (received := await self._socket.receive())["type"] != "websocket.disconnect":
            document: Json = None
            try:
                document = _read(received.get("text"))
                await self._answer(document)
            except TaskyardError as error:
                await self._refuse(error, document)

    async def _answer(self, document: Json) -> None:
        message = _kind(document)
        if message.roles is not None:
            count_call(self.caller, self._socket, self._serving)
            if not message.allows(role := self.caller.token.role):
                raise Forbidden(f"it has the role {role.value}, which may not {message.action}")
        await HANDLERS[message.action](self, _checked(message, document))

    async def _refuse(self, error: TaskyardError, document: Json = None) -> None:
        name = document.get("id") if isinstance(document, dict) else None
        await self.say({"error": problems.document_of(error), "subscription": name})
        if isinstance(error, Unauthorized | TooManyListeners):
            self.end(Closing.NO_TOKEN)

    async def _pump(self, name: str, subscription: Subscription) -> None:
        opening = f'{{"subscription":{compact(name)},"event":'
        try:
            while (batch := await subscription.next()) is not None:
                if batch:
                    with subscription.passing_on(batch):
                        for entry in batch:
                            for text in subscription.interest.texts(entry):
                                await self._socket.send_text(f"{opening}{text}}}")
                            subscription.passed_on = entry.seq
        except TaskyardError as error:
            await self._refuse(error, {"id": name})
        except WebSocketDisconnect:
            pass  # who listens to the socket hears of it too
        except Exception:
            logger.exception("a subscription failed")
            self.end(Closing.FAILED)
        finally:
            subscription.leave()
            del self.subscriptions[name], self._pumps[name]

    def _leave(self, why: Closing, reason: str) -> None:
        if self._why is None:
            self._why = why, reason
            self._patience.reschedule(asyncio.get_running_loop().time())

    async def _say_goodbye(self, why: Closing, reason: str) -> None:
        if self._socket.client_state is WebSocketState.DISCONNECTED:
            return
        with suppress(TimeoutError, WebSocketDisconnect):  # it may not even take this
            async with asyncio.timeout(LEAVING):
                await self._socket.close(why, reason)


_REASONS = {
    Closing.FAILED: "something failed here: connect again, and resume",
    Closing.STOPPING: "the server stops: connect again, and resume",
    Closing.NO_TOKEN: "the token is no longer good",
    Closing.TOO_SLOW: "too slow: connect again, and resume",
}


@answers(messages.TOKEN)
async def show_token(conversation: Conversation, asked: request_models.ShowToken) -> None:
    await conversation.meet(asked.token)
    conversation.stay()
    await conversation.say({"welcome": conversation.caller.by})


@answers(messages.SUBSCRIBE)
async def subscribe(conversation: Conversation, asked: request_models.Subscribe) -> None:
    if asked.id in conversation.subscriptions:
        raise InvalidInput("id", "is that of a subscription: end that one first")
    if len(conversation.subscriptions) == MOST_SUBSCRIPTIONS:
        raise InvalidInput("id", f"would be one too many: a connection has at most {MOST_SUBSCRIPTIONS} subscriptions")
    task_id = None if asked.task_id is None else task_of(asked.task_id)
    interest = Interest(
        task_id=task_id,
        dag_id=asked.dag_id,
        type=asked.type,
        event=asked.event,
        task_type=asked.task_type,
        agent=asked.agent,
        subject=asked.subject,
        view=asked.view,
    )
    await must_be_theirs(conversation.caller, interest)
    feed = await conversation.live.feed_of(conversation.caller.yard)
    subscription = Subscription(feed, interest, asked.after, conversation.cut_off)
    await subscription.check()
    await conversation.say({"subscribed": asked.id, "after": subscription.resume_after})
    conversation.follow(asked.id, subscription)


@answers(messages.UNSUBSCRIBE)
async def unsubscribe(conversation: Conversation, asked: request_models.Unsubscribe) -> None:
    if asked.id not in conversation.subscriptions:
        raise NotFound("subscription", asked.id)
    await conversation.stop(asked.id)
    await conversation.say({"unsubscribed": asked.id})


@answers(messages.PING)
async def ping(conversation: Conversation, _: request_models.Ping) -> None:
    """How far each subscription is: where to resume it, also when nothing that it wants has come for long."""
    numbers: dict[str, Json] = {name: each.resume_after for name, each in conversation.subscriptions.items()}
    await conversation.say({"pong": numbers})


def _shown(socket: WebSocket) -> str | None:
    """The token in the header or, from a browser, among the protocols it offers; never in the URL, which is logged."""
    offered: list[str] = socket.scope["subprotocols"]
    tokens = [each.removeprefix(TOKEN_PROTOCOL) for each in offered if each.startswith(TOKEN_PROTOCOL)]
    return shown_token(socket) or (tokens[0] if tokens else None)


def _read(text: str | None) -> Json:
    if text is None:
        raise InvalidInput("message", "must be text")
    return decode(text, field="message", max_depth=DEEPEST)


def _kind(document: Json) -> Message:
    asked = document if isinstance(document, dict) else {}
    action = asked.get("action", messages.TOKEN.action if "token" in asked else None)
    if not isinstance(action, str) or action not in MESSAGES:
        raise InvalidInput("action", f"must be one of {', '.join(MESSAGES)}")
    return MESSAGES[action]


def _checked(message: Message, document: Json) -> requests.RequestBody:
    try:
        return message.shape.model_validate(document)
    except ValidationError as error:
        raise problems.of_model(error.errors()) from None
