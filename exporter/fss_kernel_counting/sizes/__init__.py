"""READs and WRITEs by size, and their exact cost."""
