"""What executing a statement does: to catalogs, settings and modules, or as a plan of what a job has to do."""
