"""How costs grow with what a yard holds: graphs, finished history, leases, readers. `python -m bench.growing --help`.

Each module measures one of them in yards of several sizes, in turns, and says what was promised; `plot` draws it.
"""
