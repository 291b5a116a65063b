"""One check a file; `dfannotate.analysis.discover` finds them by walking this folder."""
