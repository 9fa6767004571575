/* void is alone in the list of parameters. */
int (*f)(void, int);
BEGIN { exit(0); }
