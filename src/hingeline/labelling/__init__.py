"""Labelling page: a person answers the questions of an active learner in a browser (``hingeline label``)."""
