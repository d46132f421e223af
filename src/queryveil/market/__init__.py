"""The value of terms on the advertising market, or by a file of values."""
