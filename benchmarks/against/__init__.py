"""hingeline against its peers: ``python -m benchmarks.against``."""
