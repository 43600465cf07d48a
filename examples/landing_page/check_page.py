"""The tests of a page: what was handed in comes as JSON on standard input, exit status 0 passes."""

import json
import sys
from html.parser import HTMLParser


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - it is called with both
        self.seen.add(tag)


tags = Tags()
tags.feed(json.load(sys.stdin)["output"]["html"])
missing = sorted({"title", "main", "h1"} - tags.seen)
sys.exit(f"the page has no {', '.join(missing)}" if missing else 0)
