"""Sets limits on itself and becomes the program: `launcher.py NAME=NUMBER … -- WORDS`.

Run as a file, without the rest of the package. The worker has threads, and what a process with threads does between
fork and exec is not safe: so the limits are set here.
"""

import os
import resource
import sys

NOT_RUN = 127  # the exit status of a shell that cannot run a program


def main() -> None:
    end = sys.argv.index("--")
    for word in sys.argv[1:end]:
        name, _, number = word.partition("=")
        soft = int(number)
        # Who ignores the signal at the end of the processor time is killed a little later.
        hard = soft + 5 if name == "CPU" else soft
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (soft, hard))
    words = sys.argv[end + 1 :]
    try:
        os.execvp(words[0], words)
    except OSError as error:
        sys.stderr.write(f"{words[0]} cannot be run: {error}\n")
        sys.exit(NOT_RUN)


if __name__ == "__main__":
    main()
