"""The formats that models are read from, one file each: directory → `Imported`."""
