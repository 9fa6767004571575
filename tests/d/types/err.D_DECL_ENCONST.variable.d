/* The value of an enumerator must be a constant. */
int n;
enum e { A = n };
BEGIN { exit(0); }
