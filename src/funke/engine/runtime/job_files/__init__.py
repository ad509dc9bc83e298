"""The files that a job takes along, and the paths that all hosts must see."""
