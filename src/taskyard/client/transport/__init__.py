"""The way to the servers of a yard: connections, what is sent over them, and what goes together."""
