"""Word-level distillation: a student learns the distributions of a teacher that reads along."""
