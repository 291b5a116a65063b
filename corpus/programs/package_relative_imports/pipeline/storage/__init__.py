from .store import Store as Store
