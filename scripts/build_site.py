"""Builds the documentation site into .site/VERSION, from docs/, README.md, CHANGELOG.md and the OpenAPI document.

    python -m scripts.build_site        what `make site` does, with MkDocs in an environment of its own

A link that leads nowhere fails the build. A link to a file of the repository that is no page becomes its name: the site
is read without the repository.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import yaml

from scripts.generate_docs import ROOT
from taskyard.server.application import document as openapi
from taskyard.server.pages import manual

SITE = ROOT / ".site"
MKDOCS = SITE / "venv" / "bin" / "mkdocs"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?!https?://|#|mailto:)[^)\s]+)\)")
TABS = {"Guides": "guides", "Reference": "reference", "Decisions": "decisions", "Contributing": "contributing"}
FIRST = {"Tutorial": "tutorial.md", "Comparison": "comparison.md", "What happens when …": "guides/what-happens-when.md"}


def gathered(pages: Path) -> None:
    """Every page of the site in one folder, with links that hold there."""
    shutil.copytree(ROOT / "docs", pages, dirs_exist_ok=True)
    shutil.copyfile(ROOT / "CHANGELOG.md", pages / "changes.md")
    shutil.copyfile(ROOT / "CONTRIBUTING.md", pages / "contributing.md")
    for page in pages.rglob("*.md"):
        page.write_text(relinked(page.read_text(), page.relative_to(pages), pages))
    document = openapi()
    (pages / "openapi.json").write_text(json.dumps(document, indent=1))
    # Beside the other pages of the site, and with a way back to them.
    page = manual.page(document).replace('"/openapi.json"', '"openapi.json"')
    (pages / "calls.html").write_text(page.replace("<h1>", '<p><a href="index.html">Taskyard</a></p><h1>', 1))


def relinked(text: str, page: Path, pages: Path) -> str:
    """Links as they lead from this page of the site; what is no page of it is named, not linked."""
    # The changes and the steps for contributors stand beside docs/ in the repository, and inside it here.
    folder = (
        ROOT if page.name in ("changes.md", "contributing.md") and len(page.parts) == 1 else ROOT / "docs" / page.parent
    )

    def linked(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        path, _, anchor = target.partition("#")
        meant = Path(os.path.normpath(folder / path))
        known = {ROOT / "CHANGELOG.md": pages / "changes.md", ROOT / "CONTRIBUTING.md": pages / "contributing.md"}
        there = known.get(meant) or (
            pages / meant.relative_to(ROOT / "docs") if meant.is_relative_to(ROOT / "docs") else None
        )
        if there is not None and there.is_dir():
            there = there / "README.md" if (there / "README.md").exists() else None
        if there is None or not there.exists():
            return words
        return f"{picture}[{words}]({os.path.relpath(there, (pages / page).parent)}{'#' + anchor if anchor else ''})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else unescaped(LINK.sub(linked, part)) for part in parts)


def unescaped(text: str) -> str:
    """Bars within code in tables: the forge wants them escaped, MkDocs would show the backslash."""
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace("\\|", "|"), text)


def title(page: Path) -> str:
    [first, *_] = re.findall(r"^# (.+)$", page.read_text(), re.MULTILINE)
    return re.sub(r"[`*]", "", first)


def navigation(pages: Path) -> list[dict[str, object]]:
    nav: list[dict[str, object]] = [{name: path} for name, path in {"Home": "index.md", **FIRST}.items()]
    for name, folder in TABS.items():
        found = sorted(
            (path for path in (pages / folder).rglob("*.md") if str(path.relative_to(pages)) not in FIRST.values()),
            key=lambda path: (path.name != "README.md", path.name if folder == "decisions" else title(path).lower()),
        )
        nav.append({name: [{title(path): str(path.relative_to(pages))} for path in found]})
    alone = [path for path in sorted(pages.glob("*.md")) if path.name not in ("index.md", *FIRST.values())]
    nav.append({"More": [*({title(path): path.name} for path in alone), {"Every call over HTTP": "calls.html"}]})
    return nav


def main() -> int:
    release = version("taskyard")
    pages = SITE / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    gathered(pages)
    settings = {"INHERIT": str(ROOT / "mkdocs.yml"), "docs_dir": str(pages), "nav": navigation(pages)}
    (SITE / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))
    command = [
        MKDOCS,
        "build",
        "--strict",
        "--quiet",
        "--config-file",
        SITE / "mkdocs.yml",
        "--site-dir",
        SITE / release,
    ]
    built = subprocess.run(
        command, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    )
    if built.returncode == 0:
        versions = sorted((path.name for path in SITE.iterdir() if (path / "index.html").exists()), reverse=True)
        # As the theme's choice of a version reads it.
        listed = [{"version": name, "title": name} for name in versions]
        (SITE / "versions.json").write_text(json.dumps(listed) + "\n")
        print(f"{SITE.name}/{release}/index.html")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
