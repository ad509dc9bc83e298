"""Plan nodes of OVER: each row with aggregates of its neighbours."""
