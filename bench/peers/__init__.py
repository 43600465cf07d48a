"""Taskyard beside its peers: the same jobs, the same machine, the same durability, in turns.

`contract` says what a system must answer to be compared, and there is one small module for each. `host` runs one of
them in a process of its own and `hosting` speaks with that process; `rounds` takes the samples and refuses those in
which a job was lost or done twice; `targets` says what was promised, and `report` what came of it.
"""
