"""The connection to the Redis server that has the yard, and the streams by which processes wake each other."""
