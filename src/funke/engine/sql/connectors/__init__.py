"""Tables outside of jobs: what reads and writes them, found by the option `connector`."""
