"""The headers that go with artifacts. What is answered about one is the artifact itself."""

LEASE = "taskyard-lease"  # the header that carries a lease where there is no JSON to carry it
TASK = "taskyard-task"  # the header that says which task's lease that is, where the path does not
DIGEST = "taskyard-sha256"  # the header in which a sender may say what the file hashes to
