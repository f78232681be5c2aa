"""Study of Melki 2018, chapter 1."""
