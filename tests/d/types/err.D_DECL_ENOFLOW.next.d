/* The implicit value of an enumerator must fit into an int. */
enum e { A = 0x7fffffff, B };
BEGIN { exit(0); }
