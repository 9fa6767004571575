/* The value of an enumerator is a constant. */
int n;
enum e { A = n };
BEGIN { exit(0); }
