from os \
    import path as p, listdir \
    as names
import functools

def traced(function):
    @functools.wraps(function)
    def call(*arguments):
        return function(*arguments)
    return call

@traced
def joined_names(folder):
    lines = []
    for name in sorted(names(folder)): lines.append(name)
    return ",".join(lines)

@functools.lru_cache(maxsize=None)  # why: a comment on a decorator
# and one between
def sizes(folder,
          suffix=""
          ):
    """Doc
  string.
"""
    found = {}
    for name in sorted(names(folder)): \
        found[name] = \
            p.getsize(p.join(folder, name))
    return {
        name: size
      for name, size in found.items() if name.endswith(suffix)}
