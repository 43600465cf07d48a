"""The process that works: claims, heartbeats, its place in the runtime, and how it stops."""
