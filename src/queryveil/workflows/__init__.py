"""What a command does, end to end; the command line, the Python API and the web page call these."""
