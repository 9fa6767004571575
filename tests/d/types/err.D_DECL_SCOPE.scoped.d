/* A variable cannot be declared in the scope of a module. */
int libc`a;
BEGIN { exit(0); }
