"""Rows, arrays, maps and bitmaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.table.expression_members.members import Members, Unary

if TYPE_CHECKING:
    from funke.table.expression import Expression

__all__ = ["BitmapMembers", "CollectionMembers"]


class CollectionMembers(Members):
    """Functions of rows, arrays and maps."""

    flatten = Unary("flatten", "All fields of a row, each as a column.")
    cardinality = Unary("cardinality", "The number of elements.")
    element = Unary("element", "The only element of an array.")
    map_keys = Unary("map_keys", "The keys of a map.")
    map_values = Unary("map_values", "The values of a map.")
    map_entries = Unary("map_entries", "The entries of a map, each as a row.")

    def get(self, name_or_index: str | int) -> Expression[Any]:
        """Return a field of a row, by name or position."""
        return self._call("get", name_or_index)

    def at(self, index: Any) -> Expression[Any]:
        """Return an element: of an array by position, which counts from 1, of a map by key."""
        return self._call("at", index)

    def __getitem__(self, index: Any) -> Expression[Any]:
        return self.at(index)

    # Without this, Python would look for elements at 0, 1, 2 … and never end.
    __iter__ = None

    def array_append(self, addition: Any) -> Expression[Any]:
        """Put an element at the end."""
        return self._call("array_append", addition)

    def array_contains(self, needle: Any) -> Expression[bool]:
        """Whether an element is there."""
        return self._call("array_contains", needle)

    def array_distinct(self) -> Expression[Any]:
        """Keep the first of equal elements."""
        return self._call("array_distinct")

    def array_position(self, needle: Any) -> Expression[int]:
        """Return where an element first stands, from 1; 0 if it does not."""
        return self._call("array_position", needle)

    def array_prepend(self, addition: Any) -> Expression[Any]:
        """Put an element at the beginning."""
        return self._call("array_prepend", addition)

    def array_remove(self, needle: Any) -> Expression[Any]:
        """Remove all elements that are equal to one."""
        return self._call("array_remove", needle)

    def array_reverse(self) -> Expression[Any]:
        """Return the elements backwards."""
        return self._call("array_reverse")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Expression[Any]:
        """Return the elements from one position to another, both from 1 and included."""
        return self._call_given("array_slice", start_offset, end_offset)

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Expression[Any]:
        """Sort the elements."""
        return self._call_given("array_sort", ascending_order, null_first)

    def array_union(self, array: Any) -> Expression[Any]:
        """Return the elements of both arrays, each once."""
        return self._call("array_union", array)

    def array_concat(self, *arrays: Any) -> Expression[Any]:
        """Put arrays one behind the other."""
        return self._call("array_concat", *arrays)

    def array_max(self) -> Expression[Any]:
        """Return the greatest element."""
        return self._call("array_max")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Expression[str]:
        """Join texts with a delimiter between them."""
        return self._call_given("array_join", delimiter, null_replacement)

    def array_min(self) -> Expression[Any]:
        """Return the least element."""
        return self._call("array_min")

    def array_except(self, array: Any) -> Expression[Any]:
        """Return the elements that another array has not."""
        return self._call("array_except", array)

    def array_intersect(self, array: Any) -> Expression[Any]:
        """Return the elements that another array has too."""
        return self._call("array_intersect", array)

    def map_union(self, *maps: Any) -> Expression[Any]:
        """Put the entries of maps together; the last one counts."""
        return self._call("map_union", *maps)

    def object_update(self, *kv: Any) -> Expression[Any]:
        """Return a structured object with other values in some fields."""
        return self._call("object_update", *kv)


class BitmapMembers(Members):
    """Functions of sets of numbers, stored as bits."""

    def bitmap_and(self, bitmap2: Any) -> Expression[Any]:
        """Return what is in both."""
        return self._call("bitmap_and", bitmap2)

    def bitmap_andnot(self, bitmap2: Any) -> Expression[Any]:
        """Return what is in this one only."""
        return self._call("bitmap_andnot", bitmap2)

    def bitmap_or(self, bitmap2: Any) -> Expression[Any]:
        """Return what is in one of them."""
        return self._call("bitmap_or", bitmap2)

    def bitmap_xor(self, bitmap2: Any) -> Expression[Any]:
        """Return what is in exactly one of them."""
        return self._call("bitmap_xor", bitmap2)

    def bitmap_build(self) -> Expression[Any]:
        """Return the set of an array's numbers."""
        return self._call("bitmap_build")

    def bitmap_cardinality(self) -> Expression[int]:
        """Return how many numbers there are."""
        return self._call("bitmap_cardinality")

    def bitmap_from_bytes(self) -> Expression[Any]:
        """Return the set that some bytes hold."""
        return self._call("bitmap_from_bytes")

    def bitmap_to_array(self) -> Expression[Any]:
        """Return the numbers as an array."""
        return self._call("bitmap_to_array")

    def bitmap_to_bytes(self) -> Expression[bytes]:
        """Return the set as bytes."""
        return self._call("bitmap_to_bytes")

    def bitmap_to_string(self) -> Expression[str]:
        """Return the set as text."""
        return self._call("bitmap_to_string")

    def bitmap_and_agg(self) -> Expression[Any]:
        """Return what is in the sets of all rows."""
        return self._call("bitmap_and_agg")

    def bitmap_and_cardinality_agg(self) -> Expression[int]:
        """Return how many numbers are in the sets of all rows."""
        return self._call("bitmap_and_cardinality_agg")

    def bitmap_build_agg(self) -> Expression[Any]:
        """Return the set of the numbers of all rows."""
        return self._call("bitmap_build_agg")

    def bitmap_build_cardinality_agg(self) -> Expression[int]:
        """Return how many different numbers all rows have."""
        return self._call("bitmap_build_cardinality_agg")

    def bitmap_or_agg(self) -> Expression[Any]:
        """Return what is in the set of any row."""
        return self._call("bitmap_or_agg")

    def bitmap_or_cardinality_agg(self) -> Expression[int]:
        """Return how many numbers are in the set of any row."""
        return self._call("bitmap_or_cardinality_agg")

    def bitmap_xor_agg(self) -> Expression[Any]:
        """Return what is in an odd number of the rows' sets."""
        return self._call("bitmap_xor_agg")

    def bitmap_xor_cardinality_agg(self) -> Expression[int]:
        """Return how many numbers are in an odd number of the rows' sets."""
        return self._call("bitmap_xor_cardinality_agg")
