"""Growing tables: publish again without giving away what the last release hid (S3.10)."""
