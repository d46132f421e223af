"""What terms are worth on the advertising market, or by a file of values."""
