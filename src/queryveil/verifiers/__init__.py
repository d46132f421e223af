"""One verifier per guarantee: each certifies or refutes a release by an algorithm of its own, not the method's."""
