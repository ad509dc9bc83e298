"""The dashboard: pages in the browser that show jobs and command them, over the REST interface alone."""
