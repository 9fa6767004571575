/* An enumerator has a name of its own. */
enum e { A, B, A };
BEGIN { exit(0); }
