"""What all backends of keyed state have in common: what they must do, kinds of state, timers."""
