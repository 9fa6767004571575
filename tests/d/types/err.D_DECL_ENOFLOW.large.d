/* The value of an enumerator must fit into an int. */
enum e { A = 0x80000000 };
BEGIN { exit(0); }
