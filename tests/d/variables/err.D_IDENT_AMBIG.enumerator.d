/* A name is not a variable and an enumerator at once. */
enum e { A, B };
BEGIN { A = 1; trace(A); }
