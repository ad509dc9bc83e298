"""The state backend 'rocksdb': state larger than memory, in files on the local disk of the slot."""
