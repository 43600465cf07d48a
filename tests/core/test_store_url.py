"""What is printed of a store's URL, and which URLs are refused before a password can end up in a message."""

import pytest

from taskyard.core.errors import InvalidInput
from taskyard.stores.store_url import check_url, redact_url

SECRET = "hunter2"
SOUND = {
    "postgresql://ada:hunter2@db.example/yard": "postgresql://ada:***@db.example/yard",
    "postgresql://db.example/yard?user=ada&password=hunter2": "postgresql://db.example/yard?user=ada&password=***",
    "postgresql://a:hunter2@one:5432,two:5433/yard?schema=x": "postgresql://a:***@one:5432,two:5433/yard?schema=x",
    "postgresql://h/y?listen_url=postgresql%3A%2F%2Fa%3Ahunter2%40h": "postgresql://h/y?listen_url=***",
    "redis://:hunter2@cache.example/3": "redis://:***@cache.example/3",
    "redis+sentinel://s1:26379/main?sentinel_password=hunter2": "redis+sentinel://s1:26379/main?sentinel_password=***",
    "rediss://ada:hunter2%2F%23@cache.example": "rediss://ada:***@cache.example",
    "http://one.example:8420,http://two.example": "http://one.example:8420,http://two.example",
    "sqlite:///a b#c.db": "sqlite:///a b#c.db",
    "memory://": "memory://",
}
UNSOUND = (
    "postgresql://ada:hunter2#x@db.example/yard",
    "postgresql://ada:hun/ter2@db.example/yard",
    "postgresql://ada:hun?ter2@db.example/yard",
    "redis://:hunter2/x@cache.example",
    "postgresql://ada:hunter2@db.example:hunter2/yard",
    "postgresql://ada:hunter2@db.example:99999/yard",
    "postgresql://ada:hunter2@[db.example/yard",
    "postgresql://ada:hunter2 @db.example/yard",
    "redis://ada:hunter2@h\n/0",
)


@pytest.mark.parametrize(("url", "printed"), SOUND.items(), ids=str)
def test_a_sound_url_is_printed_without_what_may_be_a_password(url: str, printed: str):
    assert check_url(url) == url
    assert redact_url(url) == printed


@pytest.mark.parametrize("url", UNSOUND)
def test_an_unsound_url_is_refused_and_no_part_of_it_repeated(url: str):
    with pytest.raises(InvalidInput) as refused:
        check_url(url)

    said = f"{refused.value} {refused.value.facts} {redact_url(url)}"
    assert not any(part in said for part in ("hunter2", "hun", "ter2", "db.example"))
