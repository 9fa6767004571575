/* A probe description in a script must be followed by a predicate or a body. */
BEGIN
