"""A simulated storage cluster: nodes that transfer files, a cache with early returns, and a process that never ends.

What happened is said on standard output, on the simulated clock.
"""

import asyncio
import sys

from engine import Environment


class Node:
    def __init__(self, name, bandwidth):
        self.name = name
        self.bandwidth = bandwidth
        self.cached = set()

    def transfer(self, env, file, size):
        """Move one file; a cached one takes no time at all."""
        begin = env.now
        if file in self.cached:
            print(f"transfer {begin:.6f} 0.000000 {self.name}")
            return "cached"
        left = size
        while left > 0:
            part = min(left, 1 << 20)
            yield part / self.bandwidth
            left -= part
        self.cached.add(file)
        print(f"transfer {begin:.6f} {env.now - begin:.6f} {self.name}")
        return "moved"

    def beat(self, env):
        begin = env.now
        while True:
            yield 10

    def lookup(self, clock, files):
        """Several ways out, by return, by falling off the end and by an exception."""
        begin = clock.now
        for number, file in enumerate(files):
            clock.now += 0.000_25
            if file in self.cached:
                print(f"lookup {begin:.6f} {clock.now - begin:.6f} {self.name}")
                return number
        if not files:
            print(f"lookup {begin:.6f} {clock.now - begin:.6f} {self.name}")
            raise LookupError(f"{self.name}: nothing to look up")
        print(f"lookup {begin:.6f} {clock.now - begin:.6f} {self.name}")

    async def replicate(self, clock, others):
        begin = clock.now
        for _ in others:
            await asyncio.sleep(0)
            clock.now += 0.5
        print(f"replicate {begin:.6f} {clock.now - begin:.6f} {self.name}")


def main():
    env = Environment()
    nodes = [Node('node "a"\\1', 1 << 20), Node("node b", 1 << 22)]
    for node in nodes:
        for name, size in (("x", 3 << 20), ("y", 5 << 30 if node.name == "node b" else 1 << 19)):
            env.process(node.transfer(env, name, size))
        env.process(node.beat(env))
    env.run(until=2000)
    for node in nodes:
        env.process(node.transfer(env, "x", 1))
    env.run(until=2001)
    env.close()
    for files in (["z", "x"], ["z"], []):
        try:
            print(nodes[0].lookup(env, files))
        except LookupError as error:
            print(error)
    asyncio.run(nodes[0].replicate(env, nodes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
