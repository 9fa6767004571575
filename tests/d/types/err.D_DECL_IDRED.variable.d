/* A variable is declared with one type. */
int a;
char a;
BEGIN { exit(0); }
