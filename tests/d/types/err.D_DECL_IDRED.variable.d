/* A variable cannot be declared with two types. */
int a;
char a;
BEGIN { exit(0); }
