/* An int cannot be dereferenced. */
BEGIN { x = 1; exit(*x); }
