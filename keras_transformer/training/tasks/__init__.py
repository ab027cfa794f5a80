"""What is particular to a task: its data, its model and loss, what is watched and calibrated."""
