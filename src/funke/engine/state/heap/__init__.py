"""The state backend 'hashmap': state as Python objects in the memory of the slot."""
