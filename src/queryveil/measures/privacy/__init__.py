"""What a release still gives away: one measure per file."""
