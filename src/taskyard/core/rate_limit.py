"""Whether an error says that a provider wants fewer requests, and for how long it asks to be left alone.

An agent's error is free text, and agents write about rate limits as often as they meet them. So the strict reading
looks only where a message begins, at the start of a line or after a label such as "Error:", and how it goes on there.
Every repetition in a pattern is bounded, so hostile text costs no more than any other. Nothing here waits.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from functools import cached_property
from zoneinfo import ZoneInfo

from taskyard.core.units import DAY, SECOND, Micros, from_iso, micros, moment, seconds


class Recognition(StrEnum):
    STRICT = "strict"  # an error message, not prose about one
    LITERAL = "literal"  # Loki's words, wherever they stand


LONGEST_WAIT = Micros(7 * DAY)
SHORTEST_WAIT = SECOND
EXAMINED = 4096  # characters at each end: a message comes first, or last after a traceback

_LITERAL = ("rate limit", "429", "too many requests", "quota exceeded", "retry-after")


def recognise(error: str, how: Recognition) -> bool:
    """Does the error say that a provider limits the rate?"""
    match how:
        case Recognition.LITERAL:
            return any(words in error.lower() for words in _LITERAL)
        case Recognition.STRICT:
            return _limits(_examined(error).splitlines())


def wait_hint(error: str, now: Micros) -> Micros | None:
    """How long the provider asks to wait, from a second to a week; None where it does not say.

    Where it says so several times, as in the log of a client that tried again, the last time counts.
    """
    wait = next(_waits(_examined(error), now), None)
    return None if wait is None else Micros(min(max(wait, SHORTEST_WAIT), LONGEST_WAIT))


def _waits(text: str, now: Micros) -> Iterator[int]:
    """The most exact first: headers and lengths of time, then dates, then times of day."""
    for pattern, length in _LENGTHS:
        if match := pattern.last(text):
            yield length(match)
    # What no calendar has, such as 25:00 or the thirtieth of February, says nothing.
    for pattern, point in _POINTS:
        with suppress(ValueError, OverflowError):
            if match := pattern.last(text):
                yield point(match) - now
    with suppress(ValueError, OverflowError):
        if match := _CLOCK.last(text):
            yield _at_clock(match, now) - now


def _examined(error: str) -> str:
    if len(error) <= 2 * EXAMINED:
        return error
    # What is left of the line that the cut goes through would look like the beginning of one.
    return error[:EXAMINED] + "\n" + error[-EXAMINED:].partition("\n")[2]


class _Pattern:
    """Compiled when it is first looked for: all of them take ten milliseconds, and most processes see no error."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._text, re.ASCII | re.IGNORECASE | re.VERBOSE)

    def search(self, text: str) -> re.Match[str] | None:
        return self.compiled.search(text)

    def last(self, text: str) -> re.Match[str] | None:
        return next(iter(deque(self.compiled.finditer(text), maxlen=1)), None)

    def match(self, text: str) -> re.Match[str] | None:
        return self.compiled.match(text)


# Somebody tells of work done, or a test of what it wanted: no provider talks like that.
_PROSE = _Pattern(r"""
    \b (?: add(?:s|ed) | implement(?:s|ed) | wrote | handle[sdr] | handlers | handling | refactor(?:s|ed) | documented
    | fix(?:es|ed) | mock(?:s|ed)? | assert(?:s|ion\w{0,9})? | expect(?:s|ed(?!\savailable)) | (?:is|are)\snow
    | should\s(?:be|give|return|say) | instead\sof ) \b
""")

# What stands before a message and is no part of it: tags in brackets, times of a log, bullets and frames.
_ORNAMENT = _Pattern(r"""^ (?: \[ [^][]{1,60} \] | [\dTZ:.,/+-]{8,32} (?=\s) | [^\w\s"'({] | \s ){0,80}+""")

# A label names a failure and ends in a colon or a dash. "Summary:" names none, and what follows it is prose.
_LABEL = _Pattern(r"""
    (?: error | fatal | critical | warn(?:ing)? ) \s+
    | (?: data | body | response ) : \s* | curl: \s \( \d{1,3} \) \s
    | [^:]{0,120}? (?: error | exception | fail(?:ed|ure)? | fatal | critical | warn(?:ing)? | exhausted | rejected
        | exited | stderr ) [^:]{0,60}? (?: \s-\s | : (?: [a-z_][\w.]{0,60} : (?=\S) )? ) \s*
""")


def _messages(line: str) -> Iterator[str]:
    """Where a message may begin: at the start of the line, and after each label."""
    if _PROSE.search(line[:200]):
        return
    message = _ORNAMENT.compiled.sub("", line, count=1)
    yield message
    for _ in range(4):
        if label := _LABEL.match(message):
            message = message[label.end() :]
            yield message


def _limits(lines: Sequence[str]) -> bool:
    is_down = False  # within the headers of an answer by a server that is down: when it will be back is no rate limit
    for line in lines:
        messages = list(_messages(line))
        if any(signal.match(message) for message in messages for signal in _SIGNALS):
            return True
        if any(map(_SERVER_ERROR.match, messages)):
            is_down = True
        elif not _FIELD.match(line):
            is_down = False
        if not is_down and any(map(_HEADER.match, messages)):
            return True
    return False


# A status ends like a field of a message: "HTTP 429 responses", "HTTP 429, 503" and "HTTP 429 for bots" are prose.
_ENDS = r"""
    (?= \s{0,4} (?: $ | [^\w\s,/-] | -\s ) | ,\s{0,2}(?:message|reason|body|url)\b
    | \s (?: from | while | error:? | client\serror | response\sfrom | for\s(?:url|https?) ) \b )
"""

# A provider's sentence may go on about the request: "Rate limit reached for gpt-4", never "quota exceeded page".
_GOES_ON = r"""
    (?= \s{0,4} (?: $ | [^\w\s/-] | -\s ) | \s (?: for | from | on | by | in | at | of | to | while | after | with
    | please | try | retry | retrying | wait | resets? | your | error ) \b )
"""

_SIGNALS = (
    # "HTTP/1.1 429 Too Many Requests", "Error: 429", "APIStatusError: 429", "unexpected status 429", "status_code=429"
    _Pattern(
        r"""
        (?: exceeded\sretry\slimit,\s )? (?: (?: unexpected | last | got | received | api | http | response ) \s )?
        (?: https? (?: /[\d.]{1,3} )? | [\w.]{0,80}? (?: status | error | exception ) (?: [\s_]? code )? | code )
        [\s:=(]{1,3} 429\b (?: \s too\smany\srequests\b )?
        """
        + _ENDS
    ),
    # "429 Too Many Requests", "429 Client Error: ...", "429, message='Too Many Requests'", "(429) Quota exceeded"
    _Pattern(
        r"""
        \(? 429 \)? [\s:,-]{1,3} (?: message=['"] )?
        (?: too\smany\srequests | client\serror | (?:api\s)?rate[\s-]limit\s(?:exceeded|reached) | quota\sexceeded
        | you\sexceeded | resource\shas\sbeen\sexhausted | rate_limit_(?:error|exceeded) | resource_exhausted )
        """
        + _GOES_ON
    ),
    # "429 {"type": "error", ...}", "429 - {'error': ...}"
    _Pattern(r"""429 \s (?: -\s )? \{ \s{0,4} ["']"""),
    # "Request failed with status code 429", "POST https://x returned 429", "Got 429 from ...", "Request rejected (429)"
    _Pattern(
        r"""
        (?: got | received
        | (?: the\s )? (?: (?: api | http | model ) \s )?
            (?: (?: request | call ) (?: \sto\s\S{1,200} )? | (?: get | post | put ) \s\S{1,200}
            | server | provider | api | requested\surl )
            \s (?: was\s )? (?: failed | rejected | responded | returned | refused ) )
        (?: \s (?: with | an? | http | status | error | code ) ){0,5} :? \s \(? 429\b (?: \s too\smany\srequests\b )?
        """
        + _ENDS
    ),
    # "openai.RateLimitError: ...", "ResourceExhausted: ...", "ThrottlingException(...)", "TooManyRequests"
    _Pattern(r"""
        (?: \w{1,60}\. ){0,6}
        (?: rate_?limit (?: ed | exceeded )? (?: error | exception ) | rate_limit_exceeded | insufficient_quota
        | toomanyrequests (?: error | exception )? | resource_?exhausted (?: error | exception )?
        | throttl (?: ed | ing ) (?: error | exception ) | (?: request )? limitexceeded (?: exception )? )
        (?= \s{0,4} (?: $ | [:(] | -\s ) )
    """),
    # {"error": {"type": "rate_limit_error", ...}}, and its lines when it is printed over several
    _Pattern(r"""
        (?: \{ .{0,400}? )? ["'] (?: type | code | status | reason ) ["'] \s? : \s?
        ["'] (?: rate_limit_error | rate_limit_exceeded | resource_exhausted | insufficient_quota ) ["']
    """),
    # {"error": {"code": 429, ...}}
    _Pattern(r"""\{ \s? ["']error["'] \s? : \s? \{ \s? ["']code["'] \s? : \s? 429\b"""),
    # "Rate limit reached for ...", "API rate limit exceeded", "Quota exceeded", "Claude usage limit reached|1760000400"
    _Pattern(
        r"""
        (?: (?: api | your | the | claude | ai | model | account | organization | daily | monthly ) \s ){0,4}
        (?: rate[\s-]limits? | quota
        | (?: usage | \d-hour | hourly | daily | weekly | session | token | request ) \s limit )
        (?: \s (?: has | was | been ) ){0,2} \s (?: reached | exceeded | hit | exhausted )
        """
        + _GOES_ON
    ),
    # "Too many requests", "Too many tokens, please wait", "too many 429 error responses", "Request was throttled"
    _Pattern(
        r"""
        (?: too\smany\s (?: requests | tokens | 429\serror\sresponses )
        | (?: you\sare\s(?:being\s)? | (?:the\s)?request\s(?:was\s)? )? (?: rate[\s-]limited | throttled ) )
        """
        + _GOES_ON
    ),
    # "You've hit your usage limit", "You exceeded your current quota", "You have exceeded a secondary rate limit"
    _Pattern(
        r"""
        you (?: ['’]ve | \shave )? \s (?: hit | reached | exceeded ) \s
        (?: (?: your | the | a | current | secondary | api | usage | daily | weekly | monthly | session | rate | \d-hour
        | opus ) \s ){1,4} (?: limit | quota )
        """
        + _GOES_ON
    ),
    # "This request would exceed your organization's rate limit of ...", "Number of ... has exceeded your rate limit"
    _Pattern(
        r"""
        (?: this\srequest\swould\sexceed | number\sof\s[\w\s]{1,40}\shas\sexceeded ) \s
        (?: [\w'’-]{1,24} \s ){1,4}? (?: rate\slimit | quota )
        """
        + _GOES_ON
    ),
    # "Resource has been exhausted (e.g. check quota)."
    _Pattern(r"resource\shas\sbeen\sexhausted \s? (?: $ | [(.:] )"),
)


# "Retry-After: 30", "'retry-after': '30'", "retry-after-ms=350", "Retry-After: Sun, 15 Nov 2026 02:37:00 GMT"
_HEADER = _Pattern(
    r"""["']? retry-after (?: -ms )? ["']? \s? [:=] \s? ["']? (?: \d | (?:mon|tue|wed|thu|fri|sat|sun), )"""
)

# "< date: Sun, 15 Nov 2026 02:37:00 GMT", "content-length: 0"
_FIELD = _Pattern(r"""[\s<>*|-]{0,8}+ [\w-]{1,60} : \s""")

# "HTTP/1.1 503 Service Unavailable", "Request failed with status code 503", "503 Service Unavailable"
_SERVER_ERROR = _Pattern(r"""
    (?: [\w.]{1,40} \s ){0,5} (?: https? (?: /[\d.]{1,3} )? | status (?: [\s_]? code )? ) [\s:=(]{1,3} 5\d\d \b
    | \(? 5\d\d \)? [\s:-]{1,3} (?: internal\sserver\serror | server\serror | bad\sgateway | service\sunavailable
        | gateway\stime-?\s?out )
""")

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<month> {'|'.join(_MONTHS)} )"
_NUMBER = r"-?\d{1,12} (?: \.\d{1,9} )?"
_AMOUNT = r"""
    \d{1,9} (?: \.\d{1,9} )? \s?
    (?: ms | milliseconds? | d | days? | h | hrs? | hours? | m | mins? | minutes? | s | secs? | seconds? ) (?![a-z])
"""
_AMOUNTS = _Pattern(r"([\d.]+) \s? (ms|milli|d|h|m|s)")
_FACTORS = {"d": 86_400, "h": 3600, "m": 60, "s": 1, "ms": 0.001, "milli": 0.001}
_BACK = r"\b (?: resets? | try\sagain | retry | available | until ) :? \s (?: (?: at | on ) \s )?"


def _of_seconds(match: re.Match[str]) -> Micros:
    return seconds(float(match[1]))


def _of_milliseconds(match: re.Match[str]) -> Micros:
    return seconds(float(match[1]) / 1000)


def _of_amounts(match: re.Match[str]) -> Micros:
    return seconds(
        sum(float(amount[1]) * _FACTORS[amount[2].lower()] for amount in _AMOUNTS.compiled.finditer(match[1]))
    )


def _at_epoch_second(match: re.Match[str]) -> Micros:
    return seconds(int(match[1]))


def _at_iso(match: re.Match[str]) -> Micros:
    return from_iso(match[1])


def _at_http_date(match: re.Match[str]) -> Micros:
    return from_iso(f"{match['year']}-{_month(match):02}-{match['day']}T{match['time']}Z")


def _at_clock(match: re.Match[str], now: Micros) -> Micros:
    here = moment(now).astimezone(_zone(match["area"] or match["abbreviation"]))
    today = here.replace(hour=_hour(match), minute=int(match["minute"] or 0), second=0, microsecond=0)
    return _nearest(match, today, now) if match["month"] else _next(today, now)


def _next(today: datetime, now: Micros) -> Micros:
    return min(at for days in (0, 1) for at in _instants(today + timedelta(days=days)) if at > now)


def _instants(dial: datetime) -> tuple[Micros, Micros]:
    # When clocks go back a time comes twice; one that is skipped when they go forward is late rather than early.
    first, second = micros(dial.replace(fold=0)), micros(dial.replace(fold=1))
    return first, max(first, second)


def _nearest(match: re.Match[str], today: datetime, now: Micros) -> Micros:
    # No year is said. A date that has just gone by means now, not in a year.
    days = (today.replace(year=today.year + years, month=_month(match), day=int(match["day"])) for years in (-1, 0, 1))
    return min(map(micros, days), key=lambda at: abs(at - now))


def _month(match: re.Match[str]) -> int:
    return _MONTHS.index(match["month"].lower()) + 1


def _hour(match: re.Match[str]) -> int:
    hour, half = int(match["hour"]), match["half"]
    if not half:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError("half a day has twelve hours")
    return hour % 12 + (12 if half.lower() == "p" else 0)


def _zone(name: str | None) -> tzinfo:
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError):  # unknown, no name of a zone at all, or a directory of them
        return UTC


_LENGTHS: tuple[tuple[_Pattern, Callable[[re.Match[str]], Micros]], ...] = (
    # "retry-after-ms: 350"
    (_Pattern(rf"""\b retry-after-ms ["']? \s? [:=] \s? ["']? ({_NUMBER})"""), _of_milliseconds),
    # "Retry-After: 30", "'retry-after': '30'", "retry_after=30"
    (_Pattern(rf"""\b retry[-_]after ["']? \s? [:=] \s? ["']? ({_NUMBER})"""), _of_seconds),
    # "try again in 1m30s", "retry after 20 seconds", "resets in 3 days 4 hours and 12 minutes", "retryDelay": "34.07s"
    (
        _Pattern(rf"""
            \b (?: (?: try\sagain | retry | resets? | available | wait ) \s (?: (?: in | after | for ) \s )?
            | retrydelay ["']? \s? : \s? ["']? )
            ( (?: {_AMOUNT} (?: ,?\sand\s | ,\s | \s )? ){{1,6}} )
        """),
        _of_amounts,
    ),
)

_POINTS: tuple[tuple[_Pattern, Callable[[re.Match[str]], Micros]], ...] = (
    # "Retry-After: Sun, 15 Nov 2026 02:37:00 GMT"
    (
        _Pattern(rf"""
            \b retry-after ["']? \s? [:=] \s? ["']? [a-z]{{3}}, \s
            (?P<day>\d\d) \s {_MONTH} \s (?P<year>\d{{4}}) \s (?P<time>\d\d:\d\d:\d\d) \s GMT
        """),
        _at_http_date,
    ),
    # "Claude AI usage limit reached|1760000400"
    (_Pattern(r"\b limit\sreached \| (\d{10})\b"), _at_epoch_second),
    # "resets at 2026-11-15T04:00:00Z"
    (_Pattern(_BACK + r"(\d{4}-\d\d-\d\dT[\d:.]{5,15}(?:Z|[+-]\d\d:?\d\d))"), _at_iso),
)

# "resets 4am", "resets at 16:30 UTC", "resets 4am (Europe/Berlin)", "resets Oct 9 at 5pm", "try again at 3:45 PM"
_CLOCK = _Pattern(rf"""
    {_BACK} (?: {_MONTH} [a-z]{{0,6}} \s (?P<day>\d{{1,2}}) (?: st | nd | rd | th )? ,? \s (?: at\s )? )?
    (?P<hour>\d{{1,2}}) (?= : | \s?[ap]m\b ) (?: : (?P<minute>\d\d) )? (?: \s? (?P<half>[ap])m\b )?
    (?: \s? \( (?P<area>[\w+-]{{1,32}} (?: /[\w+-]{{1,32}} ){{0,2}}) \) | \s (?P<abbreviation>(?-i:[A-Z]{{3,4}}))\b )?
""")
