"""How fast the yard is, and how that grows. `python -m bench --help` says what can be measured.

`runner` knows how to measure and what to make of it, and nothing about yards; `growth` and `rates` say what is
measured.
"""
