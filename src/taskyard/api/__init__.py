"""What crosses HTTP: the table of calls, requests and messages."""
