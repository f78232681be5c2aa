"""The command line: ``hingeline train``, ``predict``, ``stream`` and others. Nothing else imports this package."""
