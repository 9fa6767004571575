/* A tick has a unit that is known. */
tick-5parsec { exit(0); }
