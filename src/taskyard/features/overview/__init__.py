"""How a workspace stands."""
