"""`python -m queryveil` is the same as `queryveil`."""

from queryveil.cli import main

main()
