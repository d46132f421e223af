"""Groups made on Spark: legal by every principle, the same however they are cut, and read by one machine."""
