"""Compiled inner loops of the methods that establish (k, m)-anonymity."""
