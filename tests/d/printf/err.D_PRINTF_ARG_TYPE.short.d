/* %hd takes a short. */
BEGIN { printf("%hd\n", 1); }
