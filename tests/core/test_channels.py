"""The services that a notification can be sent to: which targets are taken, which are refused, what is sent."""

import json

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.outbound import channels
from taskyard.outbound.channels import CHANNELS, Mail, Request, Words

WORDS = Words("7.ops", "Dead letter: code", "It is out of attempts (crash).")
# One sound target of each scheme, with the URL that it is sent to.
SOUND = {
    "discord": ("discord://1234/tokenABC", "https://discord.com/api/webhooks/1234/tokenABC"),
    "gchat": ("gchat://Space/Key/Tok", "https://chat.googleapis.com/v1/spaces/Space/messages?key=Key&token=Tok"),
    "gotify": ("gotify://Push.example:8080/sub/tokenA?priority=8", "http://push.example:8080/sub/message"),
    "gotifys": ("gotifys://push.example/tokenA", "https://push.example/message"),
    "mailto": ("mailto://user:pw@smtp.example?from=a@b.example&to=c@d.example", None),
    "mailtos": ("mailtos://u%40x:p%2Fw@smtp.example/?from=a@b.example&to=c@d.example,e@f.example", None),
    "matrix": (
        "matrix://tok@chat.example/!room%3Ax.example",
        "http://chat.example/_matrix/client/v3/rooms/%21room%3Ax.example/send/m.room.message/7.ops",
    ),
    "matrixs": (
        "matrixs://tok@chat.example/!room:x.example",
        "https://chat.example/_matrix/client/v3/rooms/%21room%3Ax.example/send/m.room.message/7.ops",
    ),
    "mmost": ("mmost://chat.example/hooktoken", "http://chat.example/hooks/hooktoken"),
    "mmosts": ("mmosts://chat.example:8443/hooktoken", "https://chat.example:8443/hooks/hooktoken"),
    "ntfy": ("ntfy://Alerts", "https://ntfy.sh"),
    "ntfys": ("ntfys://user:pw@push.example/Alerts?priority=5", "https://push.example"),
    "opsgenie": ("opsgenie://key-1/?region=eu", "https://api.eu.opsgenie.com/v2/alerts"),
    "pagerduty": ("pagerduty://KEY", "https://events.pagerduty.com/v2/enqueue"),
    "pover": ("pover://UserKey@AppToken", "https://api.pushover.net/1/messages.json"),
    "rocket": ("rocket://chat.example/a/b", "http://chat.example/hooks/a/b"),
    "rockets": ("rockets://chat.example/a/b", "https://chat.example/hooks/a/b"),
    "slack": ("slack://T1/B1/xyz", "https://hooks.slack.com/services/T1/B1/xyz"),
    "tgram": ("tgram://12345:AAbb_c/-100200", "https://api.telegram.org/bot12345:AAbb_c/sendMessage"),
}


def request(target: str, words: Words = WORDS) -> Request:
    made = channels.message(target, words)
    assert isinstance(made, Request)
    return made


def test_every_scheme_has_a_sound_target_here():
    assert SOUND.keys() == CHANNELS.keys()


@pytest.mark.parametrize(("target", "url"), [pair for pair in SOUND.values() if pair[1]], ids=str)
def test_a_message_goes_to_the_services_own_address(target: str, url: str):
    made = request(target)

    assert made.url == url
    assert "It is out of attempts" in made.body.decode()


@pytest.mark.parametrize("scheme", ["syslog", "rsyslog", "dbus", "windows", "macosx", "file", "ftp", "irc", "mqtt"])
@pytest.mark.parametrize("rest", ["//localhost", "//example.org/topic", "///etc/passwd"])
def test_a_scheme_that_is_not_listed_is_refused_and_those_that_are_are_named(scheme: str, rest: str):
    with pytest.raises(InvalidInput, match="slack://") as refused:
        channels.target_of(f"{scheme}:{rest}")

    assert refused.value.facts["field"] == "target"


@pytest.mark.parametrize("parameter", ["template", "keyfile", "subfile", "attach", "redirect", "verify", "image", "TO"])
@pytest.mark.parametrize("target", [target for target, _ in SOUND.values()])
@pytest.mark.parametrize("value", ["http%3A%2F%2F127.0.0.1%3A9911%2Fx", "%2Fetc%2Fpasswd", ""])
def test_a_parameter_that_is_not_listed_is_refused(target: str, parameter: str, value: str):
    joined = "&" if "?" in target else "?"
    with pytest.raises(InvalidInput, match="only these parameters"):
        channels.target_of(f"{target}{joined}{parameter}={value}")


@pytest.mark.parametrize(
    "target",
    [
        "ntfy://h/t?priority=1&priority=2",
        "ntfy://h/t?priority=12",
        "gotify://h/t?priority=11",
        "opsgenie://k?region=x",
        "slack://only/two",
        "slack://a/b/c#channel",
        "tgram://12:ab",
        "matrix://h/!room",
        "mailtos://u:p@h/?to=c@d",
        "mailtos://u:p@h/?from=a@b&to=c@d%0d%0aRCPT",
        "mailtos://u:p@h/?from=a@b&to=c%3E@d",
        "gotify://h/tok%0aen",
        "ntfy://h:99999/t",
        "ntfy://h:x/t",
        "ntfy://h/t?" + "&".join(f"p{each}=1" for each in range(5000)),
    ],
)
def test_a_target_that_is_not_whole_is_refused(target: str):
    with pytest.raises(InvalidInput) as refused:
        channels.message(target, WORDS)

    assert refused.value.facts["field"] == "target"


def test_a_title_calls_nobody_in_a_chat():
    loud = Words("1.ops", "<!channel> @all <users/all> @everyone", "x & y")

    assert json.loads(request("slack://T1/B1/xyz", loud).body)["text"].startswith("&lt;!channel&gt; @all")
    assert json.loads(request("discord://1/t", loud).body)["allowed_mentions"] == {"parse": []}
    for target in ("mmosts://h/t", "rockets://h/a/b", "gchat://a/b/c"):
        said = json.loads(request(target, loud).body)["text"]
        assert "@all" not in said
        assert "<users" not in said


def test_a_mail_says_which_server_takes_it():
    made = channels.message(SOUND["mailtos"][0], Words("1.ops", "two\r\nBcc: x@y", "text"))

    assert made == Mail(
        "smtp.example",
        465,
        True,
        "u@x",
        "p/w",
        "a@b.example",
        ("c@d.example", "e@f.example"),
        "two Bcc: x@y",
        "text",
    )


def test_a_token_stands_in_a_header_where_the_service_takes_one():
    assert request("ntfys://tk_1@h/t").headers["Authorization"] == "Bearer tk_1"
    assert request(SOUND["ntfys"][0]).headers["Authorization"] == "Basic dXNlcjpwdw=="
    assert request(SOUND["gotifys"][0]).headers["X-Gotify-Key"] == "tokenA"
    assert request(SOUND["matrixs"][0]).method == "PUT"
