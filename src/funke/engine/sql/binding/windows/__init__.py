"""The meaning of windows: window table functions, group windows, and groups by them."""
