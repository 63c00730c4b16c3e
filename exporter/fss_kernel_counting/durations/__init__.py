"""How long requests take, as histograms."""
