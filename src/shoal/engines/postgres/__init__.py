"""PostgreSQL: tables come in, and verified releases go out in one transaction, both as Arrow through binary COPY."""
