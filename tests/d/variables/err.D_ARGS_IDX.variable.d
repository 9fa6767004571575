/* The index of args[ ] is a constant. */
BEGIN { x = 0; trace(args[x]); }
