"""Code after the guard, a guard inside another, and text that must not move."""
import os, \
    time

USAGE = """\
if __name__ == "__main__":
    run()
"""

def report(path):
    text = '''
  indented
    more
'''
    with open(path, "w") as stream: \
        stream.write(text)

if "__main__" == __name__ and \
   os.name == "posix":
    # start
    started = time.time()
    print("""
    as it is
""", started,
  end="")
if __name__ == "__main__":
    report("report.txt")

print("end")
