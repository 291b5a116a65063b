"""dfannotate: annotate Python programs with dftracer, lint them, verify their traces."""

__version__ = "0.1.0"
