/* The index of args[ ] must be a constant. */
BEGIN { x = 0; trace(args[x]); }
