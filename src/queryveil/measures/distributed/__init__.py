"""Measures on a cluster: what a task finds in its people is put together on the driver, in a fixed order."""
