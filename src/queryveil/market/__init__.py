"""What a term is worth."""
