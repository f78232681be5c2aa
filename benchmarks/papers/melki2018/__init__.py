"""Melki 2018, chapter 1: OLLAWV beside NNISDA, MNSVM, SVC and methods other than SVMs."""
