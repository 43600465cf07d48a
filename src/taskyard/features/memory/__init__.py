"""What the yard remembers of finished work, and how similar work is found again."""
