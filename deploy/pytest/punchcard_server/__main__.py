"""python -m punchcard_server runs the program."""

from .server import main

main()
