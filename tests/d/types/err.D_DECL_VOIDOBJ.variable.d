/* A variable cannot have the type void. */
void v;
BEGIN { exit(0); }
