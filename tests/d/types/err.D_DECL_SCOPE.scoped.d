/* A variable is not declared in the scope of a module. */
int libc`a;
BEGIN { exit(0); }
