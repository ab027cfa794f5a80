"""What goes through the updates: the model to fit, its optimizer, callbacks, guards and devices."""
