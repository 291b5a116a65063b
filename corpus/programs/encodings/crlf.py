"""Windows line ends, tabs, and no newline at the end."""
import json
import os


def save(path, value):
	with open(path, "w") as stream:
		json.dump(value, stream)
		stream.flush()
		os.fsync(stream.fileno())


def load(path):
	if os.path.exists(path):
		with open(path) as stream:
			return json.load(stream)
	return None