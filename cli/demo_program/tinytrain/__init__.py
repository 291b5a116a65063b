"""A small regression trained over shards of JSON lines: nothing but the standard library."""
