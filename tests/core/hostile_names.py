"""Two hundred names that no file of a yard may have, by what each would do."""

NAMES: dict[str, tuple[str, ...]] = {
    "leave the folder": (
        *("..", ".", "../x", "../../etc/passwd", "a/../../b", "/etc/passwd", "//host/share", "a/b", "a/", "/", "./a"),
        *("..\\x", "..\\..\\windows\\win.ini", "C:\\x", "C:x", "\\\\host\\share", "\\", "a\\b", "file:///etc/passwd"),
        *("....//x", "..;/x", "a/./b", "~root/x", "~", "~/x", "\\\\?\\C:\\x", "\\\\.\\pipe\\x", "a:b", "x::$DATA"),
    ),
    "leave it once decoded": (
        *("%2e%2e%2fx", "%2E%2E/x", "..%2fx", "..%5cx", "%2fetc%2fpasswd", "a%00.txt", "%c0%ae%c0%ae%c0%afx"),
        *("%252e%252e%252fx", "a%0d%0ab", "x%2e", "%20x", "a%3ab", "%7eroot", "a%5Cb", "%u002e%2e"),
    ),
    "leave it once folded": (
        *("．．／x", "．．", "／etc", "a／b", "＼x", "a＼b", "‥/x", "‥", "…", "．", "․．", "a∕b", "a⁄b", "a⧸b", "a╱b"),
        *(
            "a∖b",
            "a⧵b",
            "℀/x",
            "a：b",
            "＊.txt",
            "a？",
            "＂x＂",
            "＜x＞",
            "a｜b",
            "．ｈtaccess",
            "～root",
            "﹣rf"[0] + "／",
        ),
    ),
    "end a text or a line": (
        *("\0", "a\0b", "a.txt\0.png", "a\nb", "a\rb", "a\r\nSet-Cookie: x=1", "a\r\n\r\n<script>", "\n", "\r", "\t"),
        *("a\tb", "a\x0bb", "a\x0cb", "a\x1bb", "a\x1b[2Jb", "a\x07b", "a\x08b", "a\x7fb", "\x01", "a\x85b", "a\x9fb"),
        *("a\u2028b", "a\u2029b", "a\x1cb", "a\x1eb", 'x"; filename="evil.exe', 'a"b', "a\x80b", "a\x00"),
    ),
    "look like something else": (
        *("invoice\u202efdp.exe", "a\u202db", "a\u200bb", "a\u200cb", "a\u200db", "\ufeffa", "a\u2060b", "a\u00adb"),
        *("a\u200eb", "a\u200fb", "a\u2066b", "a\u2069b", "a\u180eb", "\u0301a", "e\u0301", "a\u0308.txt", "\u20dda"),
        *(
            "a\u00a0b",
            "a\u3000b",
            "a\u2003b",
            "a\u202fb",
            "\u1680",
            "a\u205fb",
            "\U000e0041a",
            "a\U000e0001",
            "a\ufffe",
        ),
        *("a\U000fffff", "a\ue000", "\ud800", "a\udfff", "a\u0378", "\u212bngstrom", "a\u061cb"),
    ),
    "be a device, or hidden, or an option": (
        *("CON", "con", "PRN", "AUX", "NUL", "nul.txt", "COM1", "com9.log", "LPT1", "lpt9.txt", "CLOCK$", "CONIN$"),
        *("CONOUT$", "COM0", "LPT0", "aux.tar.gz", "nul .txt", "COM¹", "LPT²", "con.", "NUL.", "ｎｕｌ", "CoN.JsOn"),
        *(".htaccess", ".ssh", ".env", ".", "...", "-rf", "--help", "-", "-o/x", "a.", "a ", " a", "a. ", " ", "   "),
    ),
    "mean something to a shell or a file system": (
        *("a*b", "a?b", "*", "?", "a<b", "a>b", "a|b", "<script>alert(1)</script>", "|id", ">x", "a:b:c", "a|b.txt"),
        *('"', "a?.txt", "<", ">", "|", ":", "**/x", "$(x)/y", "a\\$b", "x>y", "{a,b}/c", "`x`/y"),
    ),
    "be too long or nothing": ("", "x" * 201, "x" * 5000, "ä" * 121, "漢" * 90, "😀" * 61, "x" * 1_000_000),
}
HOSTILE = sorted({name for names in NAMES.values() for name in names})
HARMLESS = (
    *("report.md", "a", "Ärger & Söhne.pdf", "数据.csv", "file (1).txt", "archive.tar.gz", "100%.txt", "a'b.txt", "$x"),
    *(
        "null",
        "console.log",
        "communication.txt",
        "x" * 200,
        "résumé_v2,final!.docx",
        "a..b",
        "отчёт.xlsx",
        "#1;a=b.txt",
    ),
)
