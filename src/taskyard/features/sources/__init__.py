"""What schedules and triggers share: templates of tasks, and what they have made."""
