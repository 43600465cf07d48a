r"""Characters that do something instead of showing something, written as escapes.

A terminal obeys control characters, and bidirectional ones turn around what stands beside them. `\n` and `\t` stay.
Each escape is one that JSON knows too, so that JSON stays JSON; JSON itself has no control character below 0x20.
"""

from __future__ import annotations

import re

_OBEYED = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1, ESC and CSI among them
    "\xad\u061c\u180e\u200b\u200e\u200f"  # invisible, or marks of direction; the joiners of scripts and emoji stay
    "\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # separators, embeddings, overrides, isolates
    "\ud800-\udfff"  # halves of a pair
    "\U000e0000-\U000e007f"  # tags: a whole alphabet that nobody sees
    "]"
)


def visible(text: str) -> str:
    """The text, with everything that a terminal or a reader's eye would obey shown as an escape."""
    return _OBEYED.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code > 0xFFFF:
        high, low = divmod(code - 0x10000, 0x400)
        return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
    return f"\\u{code:04x}"
