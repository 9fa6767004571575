/* Two enumerators cannot have the same name. */
enum e { A, B, A };
BEGIN { exit(0); }
