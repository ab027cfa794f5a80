"""Files of models: `.keras`, presets and the formats that Keras exports to."""
