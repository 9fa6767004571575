/* A char cannot be long. */
long char c;
BEGIN { exit(0); }
