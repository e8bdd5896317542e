"""`make demo`: a quiet cluster becomes busy and quiet again, and the operator rolls with it."""
