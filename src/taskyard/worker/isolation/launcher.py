"""Sets limits on itself and becomes the program: `launcher.py NAME=NUMBER … -- WORDS`, or enters `GROUP=FOLDER`.

Run as a file, without the rest of the package. The worker has threads, and what a process with threads does between
fork and exec is not safe: so the limits are set here.
"""

import os
import resource
import sys
from pathlib import Path

NOT_RUN = 127  # the exit status of a shell that cannot run a program


def main() -> None:
    end = sys.argv.index("--")
    for word in sys.argv[1:end]:
        name, _, value = word.partition("=")
        if name == "GROUP":
            enter(value)
            continue
        soft = int(value)
        # Who ignores the signal at the end of the processor time is killed a little later.
        hard = soft + 5 if name == "CPU" else soft
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (soft, hard))
    words = sys.argv[end + 1 :]
    try:
        os.execvp(words[0], words)
    except OSError as error:
        sys.stderr.write(f"{words[0]} cannot be run: {error}\n")
        sys.exit(NOT_RUN)


def enter(group: str) -> None:
    """Move to the control group. What cannot be held to its limits is not run."""
    try:
        Path(group, "cgroup.procs").write_text("0")
    except OSError as error:
        sys.stderr.write(f"the control group {group} cannot be entered: {error}\n")
        sys.exit(NOT_RUN)


if __name__ == "__main__":
    main()
