"""Counts the objects of a msgpack message by its headers, before any object is created.

An empty map takes one byte in a message but 80 bytes in memory, so limiting a message's size does not limit its cost.
"""

from __future__ import annotations

__all__ = ["MOST_DEPTH", "MOST_OBJECTS", "excess"]

# An observation has a few dozen: an image or a state is a handful of objects. This leaves room for plain lists.
MOST_OBJECTS = 100_000
MOST_DEPTH = 64

# By the byte that names the kind: the size of its length field, and its number of other bytes.
LONG = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0)}  # bytes
LONG |= {0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1)}  # extensions, which name their type
LONG |= {0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)}  # text
FIXED = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
FIXED |= {0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
# The size of the field with the number of items, and the number of objects in an item.
CONTAINERS = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


def excess(data: bytes, most_objects: int = MOST_OBJECTS, most_depth: int = MOST_DEPTH) -> str | None:
    """What a message has too much of, or None. Damaged messages are left to the unpacker."""
    announced = place = 0
    open_containers = [1]  # how many objects are still missing in each, outermost first
    while open_containers:
        if not open_containers[-1]:
            open_containers.pop()
            continue
        open_containers[-1] -= 1
        if place >= len(data):
            return None
        place, objects = _after(data, place)
        if objects:
            announced += objects
            open_containers.append(objects)
        if announced > most_objects:
            return f"more than {most_objects} objects; send numbers as arrays"
        if len(open_containers) > most_depth:
            return f"maps or lists nested more than {most_depth} deep"
    return None


def _after(data: bytes, place: int) -> tuple[int, int]:
    """Where the object ends, or its first item begins; and how many objects it contains."""
    kind = data[place]
    place += 1
    if 0x80 <= kind <= 0x8F:
        return place, 2 * (kind & 0x0F)
    if 0x90 <= kind <= 0x9F:
        return place, kind & 0x0F
    if 0xA0 <= kind <= 0xBF:
        return place + (kind & 0x1F), 0
    if kind in LONG:
        size, more = LONG[kind]
        return place + size + more + int.from_bytes(data[place : place + size], "big"), 0
    if kind in CONTAINERS:
        size, each = CONTAINERS[kind]
        return place + size, each * int.from_bytes(data[place : place + size], "big")
    return place + FIXED.get(kind, 0), 0
