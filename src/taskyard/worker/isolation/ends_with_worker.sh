#!/bin/sh
# Becomes a program that ends when the process does that started it. For libraries that take the path of a program, and no words.
exec "$TASKYARD_PYTHON" "$(dirname "$0")/launcher.py" "PARENT=$PPID" -- "$TASKYARD_PROGRAM" "$@"
