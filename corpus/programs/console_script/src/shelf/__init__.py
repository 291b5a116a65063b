"""An index of words over a folder of text files."""

__version__ = "0.1"
