"""What crosses HTTP: requests, responses, error codes, strict JSON."""
