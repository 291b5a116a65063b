# Count the words of all files named; run as a script, named with --entry.

import collections, sys
counts = collections.Counter()
def count(path):
    with open(path) as stream:
        counts.update(stream.read().split())
for path in sys.argv[1:]: count(path)
print(counts.most_common(3))
