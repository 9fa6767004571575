/* A body must end with a brace. */
BEGIN { x = 1;
