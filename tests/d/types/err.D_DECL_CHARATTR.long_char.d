/* A char is not long. */
long char c;
BEGIN { exit(0); }
