/* A body ends with its brace. */
BEGIN { x = 1;
