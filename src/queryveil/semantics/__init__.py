"""What terms mean: networks of meaning, and profiles augmented by them."""
