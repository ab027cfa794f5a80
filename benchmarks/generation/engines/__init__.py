"""Engines that continue prompts; each is the main module of a process of its own."""
