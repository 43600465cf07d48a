"""Lists that somebody wants to see again, under names that everybody in the workspace can use."""
