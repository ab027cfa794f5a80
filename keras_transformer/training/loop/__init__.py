"""The training loop: the model to fit, its optimizer, schedule, callbacks, guards and devices."""
