"""The services that a notification can be sent to, besides webhooks: which targets they take, and what they are sent.

A target is a URL in the form that apprise made common. Schemes and parameters that no channel lists are refused, so no
part of a target can name a file or a second address. A channel only says what is sent: nothing here connects anywhere.
A package adds a channel by an entry point of the group `taskyard.channels`, named by the scheme of its targets.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from taskyard import plugins
from taskyard.core.errors import InvalidInput

Body = Mapping[str, object]
_MENTION = re.compile(r"[@<]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_MAILBOX = re.compile(r"[!-;=?-~]+@[!-;=?-~]+", re.ASCII)
_QUIET = "\u200b"  # after the sign that begins a mention: the text stays readable and nobody is called
_LONGEST = 1900  # characters of a message: Discord takes the least


class Target(NamedTuple):
    """A target's URL, taken apart. Every part is unquoted."""

    scheme: str
    user: str | None
    password: str | None
    place: str  # host and port as they were written: for some services a token
    host: str
    port: int | None
    segments: tuple[str, ...]  # of the path
    parameters: Mapping[str, str]


class Request(NamedTuple):
    """One HTTP request, ready to be sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


class Mail(NamedTuple):
    """One e-mail, and the server that takes it."""

    host: str
    port: int
    is_tls: bool  # from the first byte; otherwise the connection is upgraded
    user: str | None
    password: str | None
    sender: str
    recipients: tuple[str, ...]
    title: str
    text: str


class Words(NamedTuple):
    """What there is to say, and the id under which it may be said again."""

    id: str
    title: str
    text: str

    @property
    def both(self) -> str:
        return f"{self.title}\n{self.text}"


@runtime_checkable
class Channel(Protocol):
    """A service that takes notifications. `Service` is one as data."""

    @property
    def form(self) -> str:
        """What a target looks like, for people."""
        ...

    @property
    def parameters(self) -> frozenset[str]:
        """What may stand in the query of a target."""
        ...

    @property
    def is_self_hosted(self) -> bool:
        """Whether the target names the host: then the host must be one that may be reached."""
        ...

    @property
    def message(self) -> Callable[[Target, Words], Request | Mail]:
        """A method that says what is sent; `InvalidInput` for `target` where a part of the target is missing."""
        ...


@dataclass(frozen=True, slots=True)
class Service:
    form: str
    message: Callable[[Target, Words], Request | Mail]
    parameters: frozenset[str] = frozenset()
    is_self_hosted: bool = False


def target_of(url: str) -> tuple[Channel, Target]:
    """The channel of a target, and its parts; `InvalidInput` names what is not allowed in it."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    channel = CHANNELS.get(scheme) or _installed(scheme)
    if parts.fragment or url.endswith("#"):
        raise InvalidInput("target", "must have no fragment: write # as %23")
    target = _taken_apart(parts, _parameters(parts.query, channel, scheme), channel)
    channel.message(target, Words("", "", ""))  # what is missing is found while the notifier is being set
    return channel, target


def _installed(scheme: str) -> Channel:
    found = plugins.load(plugins.CHANNELS, scheme, "target")
    if found is None:
        known = plugins.one_of(CHANNELS, plugins.CHANNELS).replace(", ", "://, ")
        raise InvalidInput("target", f"must begin with http:// or https:// (a signed webhook), or one of {known}://")
    if not isinstance(found, Channel):
        raise plugins.unfit(plugins.CHANNELS, scheme, "target", "channel")
    return found


def message(url: str, words: Words) -> Request | Mail:
    """What is sent to this target."""
    channel, target = target_of(url)
    short = Words(words.id, _CONTROL.sub(" ", words.title)[:200], words.text[:_LONGEST])
    return channel.message(target, short)


def _taken_apart(parts: SplitResult, parameters: Mapping[str, str], channel: Channel) -> Target:
    try:  # where the target is nothing but tokens, one of them may have a colon in it
        port = parts.port if channel.is_self_hosted else None
    except ValueError:
        raise InvalidInput("target", "must be a URL with a sound host and port") from None
    return Target(
        parts.scheme.lower(),
        None if parts.username is None else unquote(parts.username),
        None if parts.password is None else unquote(parts.password),
        unquote(parts.netloc.rpartition("@")[2]),
        parts.hostname or "",
        port,
        tuple(unquote(each) for each in parts.path.split("/") if each),
        parameters,
    )


def _parameters(query: str, channel: Channel, scheme: str) -> dict[str, str]:
    found = parse_qsl(query, keep_blank_values=True, max_num_fields=20) if query.count("&") < 20 else [("", "")]
    given = dict(found)
    if len(given) != len(found) or not given.keys() <= channel.parameters:
        known = ", ".join(sorted(channel.parameters)) or "none"
        raise InvalidInput("target", f"may have only these parameters as {scheme}://, each once: {known}")
    return given


def _json(url: str, body: Body, headers: Mapping[str, str] | None = None, method: str = "POST") -> Request:
    sent = {"Content-Type": "application/json", **(headers or {})}
    return Request(method, url, sent, json.dumps(body).encode())


def _need(condition: object, scheme: str) -> None:
    if not condition:
        raise InvalidInput("target", f"must look like {CHANNELS[scheme].form}")


def _tokens(target: Target, count: int) -> list[str]:
    """The parts of a target that is nothing but tokens, quoted for the path of a URL."""
    found = [target.place, *target.segments]
    _need(len(found) == count and all(found) and target.user is None, target.scheme)
    return [quote(each, safe="") for each in found]


def _base(target: Target) -> str:
    """The beginning of a URL of a server that the target names."""
    _need(target.host, target.scheme)
    host = f"[{target.host}]" if ":" in target.host else target.host
    port = "" if target.port is None else f":{target.port}"
    return f"http{'s' * target.scheme.endswith('s')}://{host}{port}"


def _path(segments: tuple[str, ...]) -> str:
    return "".join(f"/{quote(each, safe='')}" for each in segments)


def _calm(text: str) -> str:
    """The text, calling nobody: a title is written by whoever put the task in."""
    return _MENTION.sub(lambda found: found[0] + _QUIET, text)


def _slack(target: Target, words: Words) -> Request:
    tokens = "/".join(_tokens(target, 3))
    escaped = words.both.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _json(f"https://hooks.slack.com/services/{tokens}", {"text": escaped})


def _discord(target: Target, words: Words) -> Request:
    tokens = "/".join(_tokens(target, 2))
    body: Body = {"content": words.both[:2000], "allowed_mentions": {"parse": ()}}
    return _json(f"https://discord.com/api/webhooks/{tokens}", body)


def _telegram(target: Target, words: Words) -> Request:
    bot, chat = target.place, target.segments
    _need(bot and len(chat) == 1 and target.user is None, target.scheme)
    url = f"https://api.telegram.org/bot{quote(bot, safe=':')}/sendMessage"
    return _json(url, {"chat_id": chat[0], "text": words.both, "link_preview_options": {"is_disabled": True}})


def _google_chat(target: Target, words: Words) -> Request:
    space, key, token = _tokens(target, 3)
    url = f"https://chat.googleapis.com/v1/spaces/{space}/messages?key={key}&token={token}"
    return _json(url, {"text": _calm(words.both)})


def _pushover(target: Target, words: Words) -> Request:
    _need(target.user and target.place and not target.segments, target.scheme)
    body = {"token": target.place, "user": target.user, "title": words.title, "message": words.text or words.title}
    return _json("https://api.pushover.net/1/messages.json", body)


def _pagerduty(target: Target, words: Words) -> Request:
    _tokens(target, 1)
    details = {"summary": f"{words.title}: {words.text}"[:1024], "source": "taskyard", "severity": "error"}
    body = {"routing_key": target.place, "event_action": "trigger", "payload": details}
    return _json("https://events.pagerduty.com/v2/enqueue", body)


def _opsgenie(target: Target, words: Words) -> Request:
    _tokens(target, 1)
    region = target.parameters.get("region", "us")
    _need(region in ("us", "eu"), target.scheme)
    host = "api.eu.opsgenie.com" if region == "eu" else "api.opsgenie.com"
    headers = {"Authorization": f"GenieKey {_one_line(target.place)}"}
    return _json(f"https://{host}/v2/alerts", {"message": words.title[:130], "description": words.text}, headers)


def _ntfy(target: Target, words: Words) -> Request:
    body: dict[str, object] = {"title": words.title, "message": words.text}
    if (priority := target.parameters.get("priority")) is not None:
        _need(priority in "12345" and len(priority) == 1, target.scheme)
        body["priority"] = int(priority)
    if not target.segments:  # a topic alone is one of the public server
        _need(target.place and target.user is None, target.scheme)
        return _json("https://ntfy.sh", {"topic": target.place, **body})
    _need(len(target.segments) == 1, target.scheme)
    return _json(_base(target), {"topic": target.segments[0], **body}, _authorization(target))


def _gotify(target: Target, words: Words) -> Request:
    _need(target.segments and target.user is None, target.scheme)
    *folders, token = target.segments
    priority = target.parameters.get("priority", "5")
    _need(priority in map(str, range(11)), target.scheme)
    url = f"{_base(target)}{_path(tuple(folders))}/message"
    body = {"title": words.title, "message": words.text, "priority": int(priority)}
    return _json(url, body, {"X-Gotify-Key": _one_line(token)})


def _incoming(target: Target, words: Words) -> Request:
    """The incoming webhook of a chat server: the last parts of the path are its tokens."""
    _need(target.segments and target.user is None, target.scheme)
    return _json(f"{_base(target)}/hooks{_path(target.segments)}", {"text": _calm(words.both)})


def _matrix(target: Target, words: Words) -> Request:
    _need(target.user and target.password is None and len(target.segments) == 1, target.scheme)
    room = target.segments[0]
    _need(room.startswith("!"), target.scheme)
    path = f"/_matrix/client/v3/rooms/{quote(room, safe='')}/send/m.room.message/{quote(words.id, safe='')}"
    headers = {"Authorization": f"Bearer {_one_line(target.user or '')}"}
    return _json(f"{_base(target)}{path}", {"msgtype": "m.text", "body": words.both}, headers, "PUT")


def _mail(target: Target, words: Words) -> Mail:
    recipients = tuple(target.parameters.get("to", "").split(","))
    sender = target.parameters.get("from", "")
    _need(target.host and not target.segments, target.scheme)
    _need(all(_MAILBOX.fullmatch(each) for each in (sender, *recipients)), target.scheme)
    is_tls = target.scheme == "mailtos"
    port = target.port or (465 if is_tls else 587)
    return Mail(target.host, port, is_tls, target.user, target.password, sender, recipients, words.title, words.text)


def _authorization(target: Target) -> dict[str, str]:
    if target.user is None:
        return {}
    if target.password is None:  # a token stands where a name would
        return {"Authorization": f"Bearer {_one_line(target.user)}"}
    pair = base64.b64encode(f"{target.user}:{target.password}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


def _one_line(token: str) -> str:
    if not token.isascii() or not token.isprintable():
        raise InvalidInput("target", "must have no blank or control characters in its tokens")
    return token


_PRIORITY = frozenset({"priority"})
_MAIL = Service("mailtos://USER:PASSWORD@SMTP_HOST/?from=A@B&to=C@D", _mail, frozenset({"from", "to"}), True)
_NTFY = Service("ntfys://HOST/TOPIC, or ntfy://TOPIC on ntfy.sh", _ntfy, _PRIORITY, True)
_GOTIFY = Service("gotifys://HOST/TOKEN", _gotify, _PRIORITY, True)
_MATTERMOST = Service("mmosts://HOST/TOKEN", _incoming, is_self_hosted=True)
_ROCKET_CHAT = Service("rockets://HOST/TOKEN_A/TOKEN_B", _incoming, is_self_hosted=True)
_MATRIX = Service("matrixs://ACCESS_TOKEN@HOST/!ROOM:SERVER", _matrix, is_self_hosted=True)
CHANNELS: Mapping[str, Service] = {
    "discord": Service("discord://WEBHOOK_ID/TOKEN", _discord),
    "gchat": Service("gchat://SPACE/KEY/TOKEN", _google_chat),
    "gotify": _GOTIFY,
    "gotifys": _GOTIFY,
    "mailto": _MAIL,
    "mailtos": _MAIL,
    "matrix": _MATRIX,
    "matrixs": _MATRIX,
    "mmost": _MATTERMOST,
    "mmosts": _MATTERMOST,
    "ntfy": _NTFY,
    "ntfys": _NTFY,
    "opsgenie": Service("opsgenie://API_KEY, or opsgenie://API_KEY/?region=eu", _opsgenie, frozenset({"region"})),
    "pagerduty": Service("pagerduty://INTEGRATION_KEY", _pagerduty),
    "pover": Service("pover://USER_KEY@TOKEN", _pushover),
    "rocket": _ROCKET_CHAT,
    "rockets": _ROCKET_CHAT,
    "slack": Service("slack://TOKEN_A/TOKEN_B/TOKEN_C", _slack),
    "tgram": Service("tgram://BOT_ID:TOKEN/CHAT_ID", _telegram),
}
