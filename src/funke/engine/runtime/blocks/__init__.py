"""Blocks of records between subtasks: where records leave a vertex, who receives them, and their form on the wire."""
