"""Artifacts: files of tasks, who may read them, and what is left over of them."""
