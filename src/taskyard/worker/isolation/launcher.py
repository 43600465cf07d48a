"""Sets limits on itself and becomes the program: `launcher.py NAME=NUMBER … -- WORDS`, or enters `GROUP=FOLDER`.

With `PARENT=ID` the program ends when that process does.

Run as a file, without the rest of the package. The worker has threads, and what a process with threads does between
fork and exec is not safe: so the limits are set here.
"""

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

NOT_RUN = 127  # the exit status of a shell that cannot run a program
PR_SET_PDEATHSIG = 1
FOR_THE_START = ("TASKYARD_PYTHON", "TASKYARD_PROGRAM")  # variables of ends_with_worker.sh: no concern of the program


def main() -> None:
    end = sys.argv.index("--")
    for word in sys.argv[1:end]:
        name, _, value = word.partition("=")
        if name == "GROUP":
            enter(value)
            continue
        if name == "PARENT":
            end_with(int(value))
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


def end_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, also where that is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    for name in FOR_THE_START:
        os.environ.pop(name, None)
    if os.getppid() != parent:
        sys.exit(NOT_RUN)  # it has ended already


if __name__ == "__main__":
    main()
