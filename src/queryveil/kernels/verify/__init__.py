"""Compiled inner loops of the verifiers: their own, sharing nothing with the kernels that make a release."""
