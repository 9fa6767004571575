/* A type may have only one base type. */
int char c;
BEGIN { exit(0); }
