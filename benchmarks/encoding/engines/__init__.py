"""Engines that give an encoder's states; each is the main module of a process of its own."""
