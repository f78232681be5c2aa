"""Figures of Laskov, Gehl, Krüger, Müller, "Incremental support vector learning", JMLR 7, 2006."""
