/* A declared array has a number of elements. */
int a[];
BEGIN { exit(0); }
