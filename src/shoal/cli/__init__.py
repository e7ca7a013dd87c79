"""One command is one call of the API; people get tables, machines get one JSON document."""
