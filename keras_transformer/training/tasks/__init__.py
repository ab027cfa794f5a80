"""The tasks of training, each with its data, model, loss, validation and calibration."""
