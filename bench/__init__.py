"""How fast the yard is, and how that grows. `python -m bench --help` says what can be measured.

`runner` knows how to measure and what to make of it, and nothing about yards; `growth` and `rates` say what is
measured. `growing` measures more that grows, `peers` compares with others, and `profiling` says where the time goes.
"""
