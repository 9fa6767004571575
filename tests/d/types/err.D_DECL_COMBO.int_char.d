/* A type has one base. */
int char c;
BEGIN { exit(0); }
