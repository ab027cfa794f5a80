"""What is specific to a task: its data, its model and loss, its validation and calibration."""
