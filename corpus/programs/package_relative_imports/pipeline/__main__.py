"""``python -m pipeline FOLDER``"""

import sys

from . import STAGES, Store, run_stages


def main() -> None:
    store = Store.at(sys.argv[1])
    store.fill(20)
    for line in run_stages(store, STAGES):
        print(line)
    if not store.closed:
        store.close()


main()
