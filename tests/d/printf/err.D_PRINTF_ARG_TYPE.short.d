/* %hd takes what is a short. */
BEGIN { printf("%hd\n", 1); }
