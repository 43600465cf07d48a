"""A2A: agents elsewhere ask for tasks of the types that were published, follow them and answer their questions.

Nothing here decides what a caller may do, or what becomes of a task: it translates between the protocol and the calls.
"""
