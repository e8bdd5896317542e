"""`python -m ridgeline.cli` is `ridgeline`."""

from ridgeline.cli.main import app

if __name__ == "__main__":
    app()
