/* A declaration must declare a name. */
int;
BEGIN { exit(0); }
