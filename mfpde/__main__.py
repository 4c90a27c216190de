"""`python -m mfpde` is the command `mfpde`."""

from mfpde.cli import main

if __name__ == "__main__":
    main()
