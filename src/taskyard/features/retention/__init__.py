"""How long finished work is kept, and removing what is older."""
