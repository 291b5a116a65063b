"""A small discrete-event engine: processes are generators that yield how long they wait, in simulated seconds."""

import heapq
import itertools


class Environment:
    def __init__(self):
        self.now = 0.0
        self._waiting = []
        self._order = itertools.count()

    def process(self, generator):
        self._put(self.now, generator)

    def run(self, until):
        """Go on until nothing waits, or the clock reaches ``until``; what waits then is closed with the engine."""
        while self._waiting and self._waiting[0][0] <= until:
            self.now, _, generator = heapq.heappop(self._waiting)
            try:
                delay = next(generator)
            except StopIteration:
                continue
            self._put(self.now + delay, generator)
        self.now = until

    def close(self):
        while self._waiting:
            heapq.heappop(self._waiting)[2].close()

    def _put(self, when, generator):
        heapq.heappush(self._waiting, (when, next(self._order), generator))
