/* A built-in variable cannot be declared again. */
int timestamp;
BEGIN { exit(0); }
