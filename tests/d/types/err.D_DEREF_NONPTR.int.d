/* An int points to nothing. */
BEGIN { x = 1; exit(*x); }
