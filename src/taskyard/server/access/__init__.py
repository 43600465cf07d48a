"""Who may call: tokens, sessions, cookies, and how often."""
