"""Engines that translate texts; each is the main module of a process of its own."""
