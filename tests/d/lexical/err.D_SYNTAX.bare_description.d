/* A probe description in a script has a predicate or a body. */
BEGIN
