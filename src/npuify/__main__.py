"""``python -m npuify``."""

from npuify.cli import main

if __name__ == "__main__":
    main()
