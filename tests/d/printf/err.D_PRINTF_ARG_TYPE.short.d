/* The argument of %hd must be a short. */
BEGIN { printf("%hd\n", 1); }
