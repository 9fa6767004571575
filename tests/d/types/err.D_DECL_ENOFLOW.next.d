/* The next value of an enumerator fits into an int. */
enum e { A = 0x7fffffff, B };
BEGIN { exit(0); }
