/* A name cannot be both a variable and an enumerator. */
enum e { A, B };
BEGIN { A = 1; trace(A); }
