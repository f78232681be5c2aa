"""Comparison of several methods over several data sets by their ranks."""

from .ranks import Comparison, MethodRank, Pair, RankTest, critical_distance, rank_methods

__all__ = ["Comparison", "MethodRank", "Pair", "RankTest", "critical_distance", "rank_methods"]
