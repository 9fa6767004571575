/* A declaration declares something. */
int;
BEGIN { exit(0); }
