"""Where work comes from that only a process outside of the store can see."""
