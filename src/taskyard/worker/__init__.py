"""The agents' side: handlers, their context, and the process that runs them."""
