"""The rules of the yard, as pure functions over plain values.

Nothing here reads a clock, draws a random number, touches a store, logs, or waits.
"""
