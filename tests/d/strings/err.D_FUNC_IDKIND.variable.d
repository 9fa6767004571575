/* A variable is not called. */
BEGIN { x = pid(); }
