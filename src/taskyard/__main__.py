"""`python -m taskyard` is `taskyard`."""

from taskyard.cli.main import main

main()
