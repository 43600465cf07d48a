"""Moving from another queue to this one, phase by phase."""
