"""The queue files of Loki Mode: a folder of JSON files that shell scripts claim tasks from."""
