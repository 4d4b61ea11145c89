"""python -m sparsebody.cli: the same as the program sparsebody."""

from sparsebody.cli import main

main()
