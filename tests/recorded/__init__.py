"""Recorded results: what fixed commands on fixed inputs must give, byte for byte, before and after a change."""
