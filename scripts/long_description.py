"""README.md as a package index shows it: away from the repository, where no relative link leads anywhere.

No address of the repository is known here, so a link to a file becomes its text, and the picture is left out; a last
paragraph says where the files are. Used by the hook that makes packages, which has nothing but the standard library.
"""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
WHERE = """\
The guides, the reference and the tests that are named here come with the source distribution, in `docs/` and `tests/`:
`pip download --no-binary taskyard --no-deps taskyard`.
"""
_PICTURE = re.compile(r"^!\[[^]]*\]\([^)]*\)\n+", re.MULTILINE)
_LINK = re.compile(r"\[([^]]+)\]\((?!https?://)[^)]*\)")


def long_description(readme: str) -> str:
    return _LINK.sub(r"\1", _PICTURE.sub("", readme)).rstrip() + f"\n\n{WHERE}"
