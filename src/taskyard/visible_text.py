r"""Characters that do something instead of showing something, written as escapes.

A terminal obeys control characters, and bidirectional ones turn around what stands beside them. `\n` and `\t` stay.
Each escape is one that JSON knows too, so that JSON stays JSON; JSON itself has no control character below 0x20.
"""

from __future__ import annotations

import re

# From the first to the last of each. The dashboard's list is made from this one: `make docs`.
OBEYED = (
    *((0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F)),  # C0 and C1, ESC and CSI among them
    # Invisible, or marks of direction; the joiners of scripts and emoji stay.
    *((0xAD, 0xAD), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200B), (0x200E, 0x200F)),
    # Separators, embeddings, overrides, isolates.
    *((0x2028, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB)),
    (0xD800, 0xDFFF),  # halves of a pair
    (0xE0000, 0xE007F),  # tags: a whole alphabet that nobody sees
)
_OBEYED = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in OBEYED) + "]")


def visible(text: str) -> str:
    """The text, with everything that a terminal or a reader's eye would obey shown as an escape."""
    if text.isascii() and text.isprintable():
        return text  # nearly always, and much sooner known
    return _OBEYED.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code > 0xFFFF:
        high, low = divmod(code - 0x10000, 0x400)
        return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
    return f"\\u{code:04x}"
