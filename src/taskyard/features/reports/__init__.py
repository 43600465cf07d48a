"""Reports: what was done, what it cost and how long it took, grouped as somebody asks."""
