"""One attempt of a job after the other: who drives it, how it fails, when it is tried again."""
