/* A variable cannot be called. */
BEGIN { x = pid(); }
